#include "common/fabric/verbs/verbs_peer.h"

#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

// Messages under way to one client: as many as it has receive buffers by default, one that returns
// credits, and a probe.
constexpr uint32_t kSegments = 40;
constexpr uint32_t kSendSlots = 64;
constexpr uint32_t kMostInline = 256;

}  // namespace

std::string AddressText(const sockaddr* address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const socklen_t length =
      address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "(unknown address)";
  }
  const bool six = address->sa_family == AF_INET6;
  return (six ? "[" : "") + std::string(host.data()) + (six ? "]:" : ":") + port.data();
}

absl::StatusOr<std::unique_ptr<VerbsPeer>> VerbsPeer::Create(rdma_cm_id* id,
                                                             std::shared_ptr<ServerDevice> device,
                                                             const ConnectData& hello,
                                                             const VerbsEndpointOptions& options,
                                                             AtomicDomain domain) {
  Parts parts;
  parts.device = std::move(device);
  ServerDevice& shared = *parts.device;
  const size_t receive_bytes = size_t{options.receive_depth} * options.message_bytes;
  DUNLIN_ASSIGN_OR_RETURN(parts.buffers, RegisteredBuffer::Create(
                                             shared.pd.get(), options.staging_bytes + receive_bytes,
                                             IBV_ACCESS_LOCAL_WRITE));
  QueuePair::Wanted wanted;
  wanted.send_slots = kSendSlots;
  wanted.least_send_slots = Credits::kLeastDepth;
  wanted.receive_slots = options.receive_depth;
  wanted.max_inline = kMostInline;
  wanted.channel = shared.channel.get();
  DUNLIN_ASSIGN_OR_RETURN(parts.pair,
                          QueuePair::Create(id, shared.pd.get(), shared.limits, wanted));
  VerbsLink::Limits limits;
  limits.send_slots = parts.pair.send_slots();
  limits.segments = kSegments;
  limits.max_inline = parts.pair.max_inline();
  limits.receive_depth = options.receive_depth;
  limits.message_bytes = options.message_bytes;
  limits.peer_receive_depth = hello.receive_depth;
  limits.reads_apart = shared.limits.iwarp;
  VerbsLink::Buffers buffers;
  buffers.staging = parts.buffers.bytes().first(options.staging_bytes);
  buffers.staging_key = parts.buffers.local_key();
  buffers.receive = parts.buffers.bytes().subspan(options.staging_bytes, receive_bytes);
  buffers.receive_key = parts.buffers.local_key();
  std::unique_ptr<VerbsPeer> peer(new VerbsPeer(std::move(parts), limits, buffers,
                                                "rdma " + AddressText(rdma_get_peer_addr(id))));
  peer->link_.SetPeer(hello.receive_depth, hello.message_bytes);
  peer->replaces_ = {hello.replaces_session, hello.replaces_token};
  peer->access_.domain = domain;
  peer->access_.region_bytes = options.region.size();
  peer->requested_at_ = options.clock->NowNanos();
  DUNLIN_RETURN_IF_ERROR(peer->link_.PostReceives());
  return peer;
}

VerbsPeer::VerbsPeer(Parts parts, const VerbsLink::Limits& limits,
                     const VerbsLink::Buffers& link_buffers, std::string name)
    : device_(std::move(parts.device)),
      buffers_(std::move(parts.buffers)),
      pair_(std::move(parts.pair)),
      name_(std::move(name)),
      link_(pair_.qp(), pair_.cq(), limits, link_buffers, name_, nullptr) {}

VerbsPeer::~VerbsPeer() {
  if (keeper_ != nullptr) keeper_->Forget(this);
  // First the fence, then the buffers. Destroying the id tells the client, if it is still there.
  pair_ = {};
}

absl::Status VerbsPeer::Accept(CmId id, std::shared_ptr<CmEvents> events, const CmEvent& request,
                               const VerbsEndpointOptions& options) {
  events_ = std::move(events);
  id_ = std::move(id);
  pair_.SetContext(this);
  const DeviceLimits& limits = device_->limits;
  if (!limits.iwarp) {
    // As for the client's side; kernels before 5.3 can't.
    uint8_t timeout = options.ack_timeout;
    rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                    sizeof timeout);
  }
  if (const int error = ibv_req_notify_cq(pair_.cq(), 0); error != 0) {
    return UnavailableFrom("asking for completion events", error);
  }
  ConnectData data = MakeConnectData(options.message_bytes, options.receive_depth);
  rdma_conn_param parameters{};
  parameters.private_data = &data;
  parameters.private_data_len = sizeof data;
  // What the client wants to have under way, this side serves; iWARP does not always tell.
  const uint32_t asked = request.reads_asked_of_us == 0 ? UINT8_MAX : request.reads_asked_of_us;
  const uint32_t offered =
      request.reads_offered_to_us == 0 ? UINT8_MAX : request.reads_offered_to_us;
  parameters.responder_resources = ReadDepth(limits.max_reads_served, asked);
  parameters.initiator_depth = ReadDepth(limits.max_reads_started, offered);
  parameters.rnr_retry_count = 3;
  if (rdma_accept(id_.get(), &parameters) == 0) return absl::OkStatus();
  return UnavailableFrom("accepting a connection", errno);
}

RegionAccess VerbsPeer::Access(bool read_only) const {
  RegionAccess access = access_;
  access.read_only = read_only;
  access.keys = device_->memory.keys(read_only);
  return access;
}

Transfer VerbsPeer::End() const {
  Transfer transfer;
  if (hung_up_ || link_.only_flushed()) {
    transfer.hung_up = true;
  } else if (!link_.broken().ok()) {
    transfer.why = std::string(FromAbsl(link_.broken().message()));
  }
  return transfer;
}

Transfer VerbsPeer::Receive(std::span<std::byte> buffer) {
  size_t copied = 0;
  while (copied < buffer.size()) {
    const std::span<const std::byte> received = link_.Received();
    if (received.empty()) break;
    const size_t bytes = std::min(received.size(), buffer.size() - copied);
    std::memcpy(buffer.data() + copied, received.data(), bytes);
    link_.Consume(bytes);
    copied += bytes;
  }
  if (copied == 0) return End();
  Transfer transfer;
  transfer.bytes = copied;
  return transfer;
}

Transfer VerbsPeer::Send(std::span<const std::byte> bytes) {
  Transfer transfer = End();
  if (transfer.hung_up || !transfer.why.empty()) return transfer;
  transfer.bytes = link_.Send(bytes);
  if (!link_.broken().ok()) return End();
  wants_send_ = transfer.bytes != bytes.size();
  return transfer;
}

void VerbsPeer::OnCompletionEvent() {
  pair_.CountEvent();
  if (const int error = ibv_req_notify_cq(pair_.cq(), 0); error != 0) {
    link_.Break(UnavailableFrom("asking for completion events", error));
  }
  link_.Progress();
}

void VerbsPeer::OnHangUp() {
  // What it sent before is still to be heard.
  link_.Progress();
  hung_up_ = true;
}

void VerbsPeer::OnFailure(absl::Status why) {
  link_.Progress();
  link_.Break(std::move(why));
}

bool VerbsPeer::ProbeIfIdle() {
  // On iWARP the client must be the first to send anything.
  const bool idle = link_.completions() == probed_at_ && link_.messages_received() != 0;
  probed_at_ = link_.completions();
  if (idle && !hung_up_) link_.Probe();
  return link_.broken().ok();
}

std::optional<Endpoint::Ready> VerbsPeer::TakeReady() {
  Endpoint::Ready ready;
  ready.tag = tag_;
  const bool ended = hung_up_ || !link_.broken().ok();
  ready.receive = (ended && !told_end_) || link_.messages_received() != told_messages_;
  ready.send = wants_send_ && link_.ForBytes() != 0 && link_.HasRoom(1);
  told_end_ |= ended;
  told_messages_ = link_.messages_received();
  if (ready.send) wants_send_ = false;
  if (!ready.receive && !ready.send) return std::nullopt;
  return ready;
}

}  // namespace dunlin
