#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/raw_verbs/raw_layout.h"

// What both sides of raw_verbs make of verbs and the connection manager.

namespace dunlin::bench {

template <auto kDestroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using EventChannel = std::unique_ptr<rdma_event_channel, Destroyer<&rdma_destroy_event_channel>>;
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<&rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Destroyer<&rdma_ack_cm_event>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<&ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroyer<&ibv_dereg_mr>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroyer<&ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroyer<&ibv_destroy_cq>>;

// "<what>: <text of errno>".
absl::Status ErrnoStatus(std::string_view what);

absl::StatusOr<EventChannel> CreateEventChannel();

// Waits for the next event, of any kind. DeadlineExceeded if none comes within `timeout_ms`; -1
// waits for ever.
absl::StatusOr<CmEvent> NextEvent(rdma_event_channel* channel, int timeout_ms);

// The address and port in the connection manager's form. IPv4 or IPv6, no names.
absl::StatusOr<sockaddr_storage> ParseAddress(const std::string& address, uint16_t port);

// The resources of one connection's reliable queue pair. Only the connection manager's id must
// outlive it. One thread at a time.
class QueuePair {
 public:
  // Makes it on the device that `id` was resolved to, with one completion queue for both
  // directions. `memory` is registered for the device's and the peer's access, atomics included if
  // it has them.
  static absl::StatusOr<std::unique_ptr<QueuePair>> Create(rdma_cm_id* id,
                                                           std::span<std::byte> memory);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  const ibv_device_attr& device() const { return device_; }
  bool iwarp() const { return id_->verbs->device->transport_type == IBV_TRANSPORT_IWARP; }
  bool has_atomics() const { return device_.atomic_cap != IBV_ATOMIC_NONE; }
  // Payloads up to this many bytes may be posted with IBV_SEND_INLINE.
  uint32_t inline_bytes() const { return inline_bytes_; }
  uint32_t lkey() const { return region_->lkey; }
  uint32_t rkey() const { return region_->rkey; }
  ibv_cq* completions() const { return completions_.get(); }
  ibv_comp_channel* channel() const { return channel_.get(); }

  // The parameters of this end for rdma_connect() or rdma_accept().
  rdma_conn_param ConnectionParameters(std::span<const std::byte> private_data) const;

  // Posts and reports what the device refused. On an error, some of the chain may have been posted:
  // the queue pair is then of no further use.
  absl::Status PostSend(ibv_send_wr* chain);
  absl::Status PostReceive(std::byte* buffer, uint32_t bytes, uint64_t id);

  // Fills in the completions that are there now, and returns how many. An error if one of them
  // failed: Cancelled if that is because the connection ended.
  absl::StatusOr<int> Poll(std::span<ibv_wc> completions);

  // Makes the channel's file readable at the next completion.
  absl::Status Arm();
  // Takes the channel's notification; call when its file is readable.
  absl::Status TakeNotification();

 private:
  explicit QueuePair(rdma_cm_id* id) : id_(id) {}
  absl::Status Init(std::span<std::byte> memory);
  absl::Status CreatePair();

  rdma_cm_id* id_;
  ibv_device_attr device_{};
  uint32_t inline_bytes_ = 0;
  ProtectionDomain domain_;
  MemoryRegion region_;
  CompletionChannel channel_;
  CompletionQueue completions_;
};

}  // namespace dunlin::bench
