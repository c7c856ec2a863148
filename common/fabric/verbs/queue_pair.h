#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/fabric/verbs/verbs_device.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

// A reliable connected queue pair on a connection's id, with one completion queue that holds all
// that can complete.
class QueuePair {
 public:
  struct Wanted {
    uint32_t send_slots = 0;
    uint32_t least_send_slots = 0;  // with fewer it is an error
    uint32_t receive_slots = 0;
    uint32_t max_inline = 0;  // less may come
    ibv_comp_channel* channel = nullptr;
  };
  // Asks for less until the device agrees: first less inline, as no one can be asked what a queue
  // pair of a given size can take, then fewer slots. Errors: ResourceExhausted.
  static absl::StatusOr<QueuePair> Create(rdma_cm_id* id, ibv_pd* pd, const DeviceLimits& device,
                                          const Wanted& wanted);
  QueuePair() = default;
  QueuePair(QueuePair&& other) noexcept;
  QueuePair& operator=(QueuePair&& other) noexcept;
  ~QueuePair() { Destroy(); }

  // Afterwards the adapter touches none of the queue pair's buffers, and takes nothing from its
  // peer. What has completed can still be polled. No effect the second time. REQUIRES: the id still
  // exists.
  void DestroyQueuePair();

  ibv_qp* qp() const { return id_ == nullptr ? nullptr : id_->qp; }
  ibv_cq* cq() const { return cq_.get(); }
  uint32_t send_slots() const { return send_slots_; }
  uint32_t max_inline() const { return max_inline_; }

  // What events of the queues come with.
  void SetContext(void* context) {
    cq_->cq_context = context;
    id_->qp->qp_context = context;
  }

  // Completion events taken from the channel; acknowledged before the queue is destroyed.
  void CountEvent() { ++events_; }

 private:
  void Destroy();

  rdma_cm_id* id_ = nullptr;
  CompletionQueue cq_;
  uint32_t send_slots_ = 0;
  uint32_t max_inline_ = 0;
  uint32_t events_ = 0;
};

// The READs and atomics under way to ask for: what both ends can, and no more than 16, as each
// costs the serving adapter memory.
uint8_t ReadDepth(uint32_t own, uint32_t peer);

}  // namespace dunlin
