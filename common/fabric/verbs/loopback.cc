#include "common/fabric/verbs/loopback.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/deadline.h"
#include "common/fabric/verbs/cm_events.h"
#include "common/fabric/verbs/verbs_error.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

constexpr uint8_t kAckTimeout = 14;
constexpr uint8_t kRetries = 3;
constexpr uint8_t kReadsUnderWay = 1;
constexpr uint32_t kPollsBeforeBlocking = 200;

// Of the port's own addresses any would do, but the kernel has to find it on the network: rather
// one of RoCE's version 2, for which the network is set up, and rather not one of a link alone.
int RankOf(const ibv_gid_entry& entry) {
  const bool link_local = entry.gid.raw[0] == 0xfe && (entry.gid.raw[1] & 0xc0) == 0x80;
  return (link_local ? 0 : 2) + (entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loopback>> Loopback::Open(std::shared_ptr<ServerDevice> device) {
  std::unique_ptr<Loopback> loopback(new Loopback(std::move(device)));
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                     IBV_ACCESS_REMOTE_ATOMIC;
  DUNLIN_ASSIGN_OR_RETURN(loopback->buffer_, RegisteredBuffer::Create(loopback->device_->pd.get(),
                                                                      kBufferBytes, access));
  DUNLIN_RETURN_IF_ERROR(loopback->MakeQueuePairs());
  DUNLIN_RETURN_IF_ERROR(loopback->Connect(loopback->asking_.get(), loopback->answering_->qp_num));
  DUNLIN_RETURN_IF_ERROR(loopback->Connect(loopback->answering_.get(), loopback->asking_->qp_num));
  return loopback;
}

absl::Status Loopback::MakeQueuePairs() {
  const std::string& name = device_->limits.name;
  channel_.reset(ibv_create_comp_channel(device_->context));
  if (channel_ == nullptr) return UnavailableFrom("a completion channel on " + name, errno);
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(channel_->fd));
  cq_.reset(ibv_create_cq(device_->context, 2 * kMostRequests, nullptr, channel_.get(), 0));
  if (cq_ == nullptr) return UnavailableFrom("a completion queue on " + name, errno);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = cq_.get();
  attributes.recv_cq = cq_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {kMostRequests, 1, 1, 1, 0};
  asking_.reset(ibv_create_qp(device_->pd.get(), &attributes));
  if (asking_ != nullptr) answering_.reset(ibv_create_qp(device_->pd.get(), &attributes));
  if (answering_ == nullptr) return UnavailableFrom("a queue pair on " + name, errno);
  return absl::OkStatus();
}

absl::Status Loopback::AddressSelf(const ibv_port_attr& port, ibv_ah_attr* address) const {
  address->port_num = device_->port;
  address->dlid = port.lid;
  if (port.link_layer != IBV_LINK_LAYER_ETHERNET) return absl::OkStatus();
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(std::max(port.gid_tbl_len, 1)));
  const ssize_t count = ibv_query_gid_table(device_->context, entries.data(), entries.size(), 0);
  const ibv_gid_entry* chosen = nullptr;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    if (entry.port_num != device_->port) continue;
    if (chosen == nullptr || RankOf(entry) > RankOf(*chosen)) chosen = &entry;
  }
  if (chosen == nullptr) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "port " + std::to_string(device_->port) + " of adapter " +
                          device_->limits.name +
                          " has no address (its GID table is empty): give "
                          "its network interface one");
  }
  address->is_global = 1;
  address->grh.dgid = chosen->gid;
  address->grh.sgid_index = static_cast<uint8_t>(chosen->gid_index);
  address->grh.hop_limit = 64;
  return absl::OkStatus();
}

absl::Status Loopback::Connect(ibv_qp* qp, uint32_t to) {
  const std::string doing = "connecting adapter " + device_->limits.name + " to itself";
  ibv_port_attr port{};
  if (const int error = ibv_query_port(device_->context, device_->port, &port); error != 0) {
    return UnavailableFrom(doing, error);
  }
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device_->port;
  attributes.qp_access_flags =
      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  int error = ibv_modify_qp(qp, &attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return UnavailableFrom(doing, error);
  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = port.active_mtu;
  attributes.dest_qp_num = to;
  attributes.max_dest_rd_atomic = kReadsUnderWay;
  attributes.min_rnr_timer = 12;
  DUNLIN_RETURN_IF_ERROR(AddressSelf(port, &attributes.ah_attr));
  error = ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return UnavailableFrom(doing, error);
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kAckTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRetries;
  attributes.max_rd_atomic = kReadsUnderWay;
  error = ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return UnavailableFrom(doing, error);
  return absl::OkStatus();
}

absl::Status Loopback::Execute(ibv_send_wr* requests) {
  if (!broken_.ok()) return broken_;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(asking_.get(), requests, &refused);
  if (error != 0 || refused != nullptr) {
    return broken_ = UnavailableFrom("posting to the server's own queue pair", std::abs(error));
  }
  return broken_ = AwaitCompletion();
}

absl::Status Loopback::AwaitCompletion() {
  std::optional<Deadline> deadline;
  ibv_wc completion{};
  for (uint32_t polls = 0;; ++polls) {
    const int n = ibv_poll_cq(cq_.get(), 1, &completion);
    if (n > 0) break;
    if (n < 0) return UnavailableFrom("polling the server's own queue pair", -n);
    if (polls < kPollsBeforeBlocking) continue;
    if (!deadline.has_value()) deadline = Deadline::After(kPatience);
    const int64_t left = deadline->NanosLeft();
    if (left == 0) {
      return MakeStatus(
          absl::StatusCode::kUnavailable,
          "adapter " + device_->limits.name + " does not complete an operation on its own host");
    }
    if (polls == kPollsBeforeBlocking) {
      // What completed before the request makes no event: poll once more.
      ibv_req_notify_cq(cq_.get(), 0);
      continue;
    }
    pollfd waited{channel_->fd, POLLIN, 0};
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    if (::ppoll(&waited, 1, &timeout, nullptr) <= 0) continue;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
    ibv_req_notify_cq(cq_.get(), 0);
  }
  if (completion.status == IBV_WC_SUCCESS) return absl::OkStatus();
  return StatusOfCompletion(completion, "an operation of the server's own",
                            "adapter " + device_->limits.name);
}

absl::Status TestOrderOfAtomics(const std::shared_ptr<ServerDevice>& device) {
  constexpr uint64_t kRounds = 100;
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Loopback> loopback, Loopback::Open(device));
  // The remote half: a payload and a word that stands for it. The local half: the new payload, the
  // word found, and what is read back.
  std::byte* const remote = loopback->buffer().data();
  std::byte* const local = remote + Loopback::kBufferBytes / 2;
  const auto address = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
  for (uint64_t round = 1; round <= kRounds; ++round) {
    SetPlainWord(local, round);
    ibv_sge buffers[3] = {{address(local), 8, loopback->local_key()},
                          {address(local + 8), 8, loopback->local_key()},
                          {address(local + 16), 16, loopback->local_key()}};
    ibv_send_wr requests[3] = {};
    for (int i = 0; i < 3; ++i) {
      requests[i].sg_list = &buffers[i];
      requests[i].num_sge = 1;
      requests[i].next = i < 2 ? &requests[i + 1] : nullptr;
    }
    requests[0].opcode = IBV_WR_RDMA_WRITE;
    requests[0].wr.rdma = {address(remote), loopback->remote_key()};
    requests[1].opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    requests[1].wr.atomic = {address(remote + 8), round - 1, round, loopback->remote_key()};
    requests[2].opcode = IBV_WR_RDMA_READ;
    requests[2].wr.rdma = {address(remote), loopback->remote_key()};
    requests[2].send_flags = IBV_SEND_SIGNALED;
    DUNLIN_RETURN_IF_ERROR(loopback->Execute(requests));
    const uint64_t found = PlainWord(local + 8);
    const uint64_t payload = PlainWord(local + 16);
    const uint64_t word = PlainWord(local + 24);
    if (found == round - 1 && payload == round && word == round) continue;
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "adapter " + device->limits.name + " says that it has atomics, but after a WRITE of " +
            std::to_string(round) + " and a compare-and-swap of " + std::to_string(round - 1) +
            " by " + std::to_string(round) + " in one list, the swap found " +
            std::to_string(found) + " and a READ behind it saw " + std::to_string(payload) +
            " and " + std::to_string(word) + ": choose the atomic domain 'cpu'");
  }
  return absl::OkStatus();
}

}  // namespace dunlin
