#include "bench/raw_verbs/raw_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "common/base/status.h"

namespace dunlin::bench {
namespace {

constexpr uint32_t kQueueDepth = 2 * kMessages;
constexpr uint32_t kWantedInline = 64;
constexpr int kWantedReads = 16;

absl::Status SetNonBlocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return ErrnoStatus("fcntl");
  return absl::OkStatus();
}

}  // namespace

absl::Status ErrnoStatus(std::string_view what) { return absl::ErrnoToStatus(errno, ToAbsl(what)); }

absl::StatusOr<EventChannel> CreateEventChannel() {
  EventChannel channel(rdma_create_event_channel());
  if (channel == nullptr) {
    return ErrnoStatus(
        "no RDMA connection manager (rdma_create_event_channel); is there an RDMA device? "
        "'rdma link' lists them");
  }
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(channel->fd));
  return channel;
}

absl::StatusOr<CmEvent> NextEvent(rdma_event_channel* channel, int timeout_ms) {
  while (true) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) == 0) return CmEvent(event);
    if (errno != EAGAIN && errno != EINTR) return ErrnoStatus("rdma_get_cm_event");
    pollfd file{.fd = channel->fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&file, 1, timeout_ms);
    if (ready < 0 && errno != EINTR) return ErrnoStatus("poll");
    if (ready == 0) return absl::DeadlineExceededError("no event from the connection manager");
  }
}

absl::StatusOr<sockaddr_storage> ParseAddress(const std::string& address, uint16_t port) {
  sockaddr_storage storage{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
  } else {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        "expected the IPv4 or IPv6 address of an RDMA interface, found '" + address + "'");
  }
  return storage;
}

absl::StatusOr<std::unique_ptr<QueuePair>> QueuePair::Create(rdma_cm_id* id,
                                                             std::span<std::byte> memory) {
  std::unique_ptr<QueuePair> pair(new QueuePair(id));
  DUNLIN_RETURN_IF_ERROR(pair->Init(memory));
  return pair;
}

QueuePair::~QueuePair() {
  if (id_->qp != nullptr) rdma_destroy_qp(id_);
}

absl::Status QueuePair::Init(std::span<std::byte> memory) {
  if (ibv_query_device(id_->verbs, &device_) != 0) return ErrnoStatus("ibv_query_device");
  domain_.reset(ibv_alloc_pd(id_->verbs));
  if (domain_ == nullptr) return ErrnoStatus("ibv_alloc_pd");
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (has_atomics()) access |= IBV_ACCESS_REMOTE_ATOMIC;
  region_.reset(ibv_reg_mr(domain_.get(), memory.data(), memory.size(), access));
  if (region_ == nullptr) {
    return ErrnoStatus(
        "ibv_reg_mr (if memory is short: raise the limit on locked memory, "
        "'ulimit -l')");
  }
  channel_.reset(ibv_create_comp_channel(id_->verbs));
  if (channel_ == nullptr) return ErrnoStatus("ibv_create_comp_channel");
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(channel_->fd));
  completions_.reset(ibv_create_cq(id_->verbs, 2 * kQueueDepth, nullptr, channel_.get(), 0));
  if (completions_ == nullptr) return ErrnoStatus("ibv_create_cq");
  return CreatePair();
}

absl::Status QueuePair::CreatePair() {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = completions_.get();
  attributes.recv_cq = completions_.get();
  attributes.cap.max_send_wr = kQueueDepth;
  attributes.cap.max_recv_wr = kQueueDepth;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = kWantedInline;
  if (rdma_create_qp(id_, domain_.get(), &attributes) != 0) return ErrnoStatus("rdma_create_qp");
  inline_bytes_ = attributes.cap.max_inline_data;
  return absl::OkStatus();
}

rdma_conn_param QueuePair::ConnectionParameters(std::span<const std::byte> private_data) const {
  rdma_conn_param parameters{};
  parameters.private_data = private_data.data();
  parameters.private_data_len = static_cast<uint8_t>(private_data.size());
  parameters.responder_resources =
      static_cast<uint8_t>(std::min(device_.max_qp_rd_atom, kWantedReads));
  parameters.initiator_depth =
      static_cast<uint8_t>(std::min(device_.max_qp_init_rd_atom, kWantedReads));
  parameters.retry_count = 7;
  parameters.rnr_retry_count = 7;
  return parameters;
}

absl::Status QueuePair::PostSend(ibv_send_wr* chain) {
  ibv_send_wr* refused = nullptr;
  const int result = ibv_post_send(id_->qp, chain, &refused);
  // siw may return 0 and yet name a request that it won't execute.
  if (result == 0 && refused == nullptr) [[likely]]
    return absl::OkStatus();
  errno = result == 0 ? EINVAL : std::abs(result);
  return ErrnoStatus("ibv_post_send");
}

absl::Status QueuePair::PostReceive(std::byte* buffer, uint32_t bytes, uint64_t id) {
  ibv_sge part{.addr = reinterpret_cast<uint64_t>(buffer), .length = bytes, .lkey = lkey()};
  ibv_recv_wr request{.wr_id = id, .next = nullptr, .sg_list = &part, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  const int result = ibv_post_recv(id_->qp, &request, &refused);
  if (result == 0 && refused == nullptr) return absl::OkStatus();
  errno = result == 0 ? EINVAL : std::abs(result);
  return ErrnoStatus("ibv_post_recv");
}

absl::StatusOr<int> QueuePair::Poll(std::span<ibv_wc> completions) {
  const int found =
      ibv_poll_cq(completions_.get(), static_cast<int>(completions.size()), completions.data());
  if (found < 0) return absl::InternalError("ibv_poll_cq failed");
  for (int i = 0; i < found; ++i) {
    if (completions[i].status == IBV_WC_SUCCESS) continue;
    const bool flushed = completions[i].status == IBV_WC_WR_FLUSH_ERR;
    return MakeStatus(flushed ? absl::StatusCode::kCancelled : absl::StatusCode::kUnavailable,
                      std::string("completion: ") + ibv_wc_status_str(completions[i].status));
  }
  return found;
}

absl::Status QueuePair::Arm() {
  if (ibv_req_notify_cq(completions_.get(), 0) != 0) return ErrnoStatus("ibv_req_notify_cq");
  return absl::OkStatus();
}

absl::Status QueuePair::TakeNotification() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) {
    return errno == EAGAIN ? absl::OkStatus() : ErrnoStatus("ibv_get_cq_event");
  }
  ibv_ack_cq_events(queue, 1);
  return absl::OkStatus();
}

}  // namespace dunlin::bench
