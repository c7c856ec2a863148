#include "common/fabric/verbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dunlin {
namespace {

constexpr uint32_t kMostReadDepth = 16;
constexpr uint32_t kInlineSteps[] = {512, 256, 220, 128, 96, 80, 64, 32, 0};

// errno, or 0.
int TryCreate(rdma_cm_id* id, ibv_pd* pd, ibv_cq* cq, const QueuePair::Wanted& wanted,
              uint32_t send_slots, uint32_t max_inline, uint32_t* got_inline) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = cq;
  attributes.recv_cq = cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = send_slots;
  attributes.cap.max_recv_wr = wanted.receive_slots;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = max_inline;
  errno = 0;  // not all providers set it
  if (rdma_create_qp(id, pd, &attributes) != 0) return errno == 0 ? EINVAL : errno;
  *got_inline = attributes.cap.max_inline_data;
  return 0;
}

}  // namespace

uint8_t ReadDepth(uint32_t own, uint32_t peer) {
  return static_cast<uint8_t>(std::min({own, peer, kMostReadDepth}));
}

absl::StatusOr<QueuePair> QueuePair::Create(rdma_cm_id* id, ibv_pd* pd, const DeviceLimits& device,
                                            const Wanted& wanted) {
  QueuePair pair;
  uint32_t slots = std::min(wanted.send_slots, device.max_qp_wr);
  const uint32_t entries = std::min(slots + wanted.receive_slots, device.max_cqe);
  if (slots < wanted.least_send_slots || entries <= wanted.receive_slots) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "device " + device.name + " has queues of at most " +
                          std::to_string(device.max_qp_wr) + " requests and " +
                          std::to_string(device.max_cqe) + " completions; at least " +
                          std::to_string(wanted.least_send_slots) + " and " +
                          std::to_string(wanted.receive_slots) + " more are needed");
  }
  slots = std::min(slots, entries - wanted.receive_slots);
  errno = 0;
  pair.cq_.reset(ibv_create_cq(id->verbs, static_cast<int>(entries), nullptr, wanted.channel, 0));
  if (pair.cq_ == nullptr) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "creating a completion queue of " + std::to_string(entries) +
                          " entries on device " + device.name + ": " + ErrnoText(errno));
  }
  int error = EINVAL;
  for (; slots >= wanted.least_send_slots; slots /= 2) {
    for (const uint32_t step : kInlineSteps) {
      if (step > wanted.max_inline) continue;
      error = TryCreate(id, pd, pair.cq_.get(), wanted, slots, step, &pair.max_inline_);
      if (error != 0) continue;
      pair.id_ = id;
      pair.send_slots_ = slots;
      return pair;
    }
  }
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "creating a queue pair on device " + device.name + ": " + ErrnoText(error) +
                        "; the device may have as many as it takes (rdma resource shows them), or "
                        "too little memory may be locked: see 'kvctl doctor'");
}

QueuePair::QueuePair(QueuePair&& other) noexcept { *this = std::move(other); }

QueuePair& QueuePair::operator=(QueuePair&& other) noexcept {
  if (this == &other) return *this;
  Destroy();
  id_ = std::exchange(other.id_, nullptr);
  cq_ = std::move(other.cq_);
  send_slots_ = other.send_slots_;
  max_inline_ = other.max_inline_;
  events_ = std::exchange(other.events_, 0);
  return *this;
}

void QueuePair::DestroyQueuePair() {
  if (id_ != nullptr && id_->qp != nullptr) rdma_destroy_qp(id_);
}

void QueuePair::Destroy() {
  DestroyQueuePair();
  id_ = nullptr;
  if (cq_ == nullptr) return;
  if (events_ != 0) ibv_ack_cq_events(cq_.get(), std::exchange(events_, 0));
  cq_.reset();
}

}  // namespace dunlin
