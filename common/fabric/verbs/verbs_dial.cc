#include "common/fabric/verbs/verbs_dial.h"

#include <netdb.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "common/base/status.h"
#include "common/fabric/verbs/cm_events.h"
#include "common/fabric/verbs/connect_data.h"
#include "common/fabric/verbs/verbs_connection.h"

namespace dunlin {
namespace {

using Addresses = std::unique_ptr<addrinfo, VerbsDeleter<&freeaddrinfo>>;

// Lane messages have send queue entries of their own beside the chains'.
constexpr uint32_t kMessageSlots = 64;
// A chain that is posted whole, and a message.
constexpr uint32_t kLeastSendSlots = 2 * kMaxPieces;
// The connection manager picks this side's port at random, blind to what the kernel's TCP, which
// carries iWARP, remembers of connections that were closed (TIME_WAIT); another pick is likely
// free.
constexpr int kMostPorts = 8;

absl::StatusOr<Addresses> Resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &found);
  if (error == 0) return Addresses(found);
  const bool for_now = error != EAI_SERVICE && error != EAI_BADFLAGS;
  return MakeStatus(for_now ? absl::StatusCode::kUnavailable : absl::StatusCode::kInvalidArgument,
                    "host '" + host + "', port '" + port + "': " + ::gai_strerror(error));
}

int MillisLeft(Deadline deadline) {
  constexpr int64_t kMost = 3'600'000;
  return static_cast<int>(std::clamp<int64_t>(deadline.NanosLeft() / 1'000'000, 1, kMost));
}

absl::Status CheckOptions(const VerbsOptions& options) {
  const bool sane =
      std::has_single_bit(options.staging_bytes) && options.staging_bytes >= 64 * 1024 &&
      options.receive_depth >= Credits::kLeastDepth && options.receive_depth <= kMostReceiveDepth &&
      options.message_bytes >= kLeastMessageBytes &&
      options.message_bytes <= options.staging_bytes / 4 && options.chains >= 1 &&
      options.ack_timeout <= 31 && options.retry_count <= 7;
  if (sane) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the options of the verbs fabric are out of range: staging_bytes is a power of two and at "
      "least 64 KiB, message_bytes at most a quarter of it and at least 512, receive_depth 4 to "
      "4096, chains at least 1, ack_timeout at most 31, retry_count at most 7");
}

// One attempt at one address.
class Dialer {
 public:
  Dialer(std::string peer, Deadline deadline, const VerbsOptions& options)
      : peer_(std::move(peer)), deadline_(deadline), options_(options) {}

  absl::StatusOr<std::unique_ptr<RemoteConnection>> Dial(sockaddr* source, sockaddr* target) {
    DUNLIN_RETURN_IF_ERROR(FindPath(source, target));
    DUNLIN_RETURN_IF_ERROR(MakeParts());
    auto connection = std::make_unique<VerbsConnection>(std::move(parts_), options_, peer_);
    DUNLIN_RETURN_IF_ERROR(connection->PostReceives());
    DUNLIN_RETURN_IF_ERROR(Connect(*connection));
    return connection;
  }
  // The last attempt failed for the port that was picked for this side, and for nothing else.
  bool port_was_taken() const { return port_was_taken_; }

 private:
  absl::Status FindPath(sockaddr* source, sockaddr* target);
  absl::Status SetPathOptions();
  absl::Status MakeParts();
  absl::Status Connect(VerbsConnection& connection);
  absl::Status NobodyListens(const std::string& evidence) const;
  absl::Status TakeWelcome(const CmEvent& event, VerbsConnection& connection);
  absl::Status AwaitEvent(rdma_cm_event_type wanted, const std::string& doing);

  const std::string peer_;
  const Deadline deadline_;
  const VerbsOptions& options_;
  VerbsParts parts_;
  bool port_was_taken_ = false;
};

absl::Status Dialer::AwaitEvent(rdma_cm_event_type wanted, const std::string& doing) {
  absl::StatusOr<CmEvent> event = parts_.events.Await(deadline_);
  if (!event.ok()) return WithContext(event.status(), doing);
  if (event->type == wanted) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    doing + ": " + rdma_event_str(event->type) + " (" +
                        ErrnoText(event->status < 0 ? -event->status : event->status) +
                        "): no RDMA adapter of this host leads there; 'kvctl doctor' shows its "
                        "adapters, tcp:// needs none");
}

absl::Status Dialer::FindPath(sockaddr* source, sockaddr* target) {
  DUNLIN_ASSIGN_OR_RETURN(parts_.events, CmEvents::Create());
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(parts_.events.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return UnavailableFrom("creating an id of the connection manager", errno);
  }
  parts_.id.reset(id);
  if (rdma_resolve_addr(id, source, target, MillisLeft(deadline_)) != 0) {
    return UnavailableFrom("resolving the address of " + peer_, errno);
  }
  DUNLIN_RETURN_IF_ERROR(
      AwaitEvent(RDMA_CM_EVENT_ADDR_RESOLVED, "resolving the address of " + peer_));
  if (HasNoDevice(id)) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the route to " + peer_ +
                          " leads over an interface without an RDMA adapter; 'kvctl doctor' shows "
                          "the adapters, tcp:// needs none");
  }
  DUNLIN_ASSIGN_OR_RETURN(parts_.device, ReadDeviceLimits(id->verbs, id->port_num));
  DUNLIN_RETURN_IF_ERROR(SetPathOptions());
  if (rdma_resolve_route(id, MillisLeft(deadline_)) != 0) {
    return UnavailableFrom("resolving the route to " + peer_, errno);
  }
  return AwaitEvent(RDMA_CM_EVENT_ROUTE_RESOLVED, "resolving the route to " + peer_);
}

// Before the route is resolved, which depends on them.
absl::Status Dialer::SetPathOptions() {
  rdma_cm_id* id = parts_.id.get();
  if (options_.traffic_class >= 0) {
    uint8_t value = static_cast<uint8_t>(options_.traffic_class);
    if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, sizeof value) != 0) {
      return UnavailableFrom("setting the traffic class", errno);
    }
  }
  if (parts_.device.iwarp) return absl::OkStatus();
  uint8_t value = options_.ack_timeout;
  // Kernels before 5.3 can't; then the default holds, and a silent peer is noticed later.
  if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &value, sizeof value) != 0 &&
      errno != ENOSYS && errno != EINVAL) {
    return UnavailableFrom("setting the acknowledgement timeout", errno);
  }
  return absl::OkStatus();
}

absl::Status Dialer::MakeParts() {
  ibv_context* device = parts_.id->verbs;
  parts_.pd.reset(ibv_alloc_pd(device));
  if (parts_.pd == nullptr) return UnavailableFrom("allocating a protection domain", errno);
  parts_.channel.reset(ibv_create_comp_channel(device));
  if (parts_.channel == nullptr) return UnavailableFrom("creating a completion channel", errno);
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(parts_.channel->fd));
  // iWARP answers a READ with a kind of WRITE, for which its adapters want the right.
  const int sink = IBV_ACCESS_LOCAL_WRITE | (parts_.device.iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
  DUNLIN_ASSIGN_OR_RETURN(parts_.staging,
                          RegisteredBuffer::Create(parts_.pd.get(), options_.staging_bytes, sink));
  DUNLIN_ASSIGN_OR_RETURN(
      parts_.receive, RegisteredBuffer::Create(
                          parts_.pd.get(), size_t{options_.receive_depth} * options_.message_bytes,
                          IBV_ACCESS_LOCAL_WRITE));
  QueuePair::Wanted wanted;
  wanted.send_slots = options_.chains * kMaxWorks + kMessageSlots;
  wanted.least_send_slots = kLeastSendSlots;
  wanted.receive_slots = options_.receive_depth;
  wanted.max_inline = options_.max_inline;
  wanted.channel = parts_.channel.get();
  DUNLIN_ASSIGN_OR_RETURN(
      parts_.pair, QueuePair::Create(parts_.id.get(), parts_.pd.get(), parts_.device, wanted));
  return absl::OkStatus();
}

absl::Status Dialer::Connect(VerbsConnection& connection) {
  ConnectData data = MakeConnectData(options_.message_bytes, options_.receive_depth);
  data.replaces_session = options_.replaces_session;
  data.replaces_token = options_.replaces_token;
  rdma_conn_param parameters{};
  parameters.private_data = &data;
  parameters.private_data_len = sizeof data;
  // The server's answer brings them down to what it can.
  parameters.initiator_depth = ReadDepth(connection.device().max_reads_started, UINT8_MAX);
  parameters.responder_resources = ReadDepth(connection.device().max_reads_served, UINT8_MAX);
  parameters.retry_count = options_.retry_count;
  // Never needed, as credits see to it; few, so that a peer without them is found out.
  parameters.rnr_retry_count = 3;
  if (rdma_connect(connection.id(), &parameters) != 0) {
    // iWARP's connection manager may know at once.
    if (errno == ECONNREFUSED) return NobodyListens("connection refused");
    port_was_taken_ = errno == EADDRNOTAVAIL || errno == EADDRINUSE;
    return UnavailableFrom("connecting to " + peer_, errno);
  }
  absl::StatusOr<CmEvent> event = connection.events().Await(deadline_);
  if (!event.ok()) {
    return WithContext(event.status(), "connecting to " + peer_ + ": the server does not answer");
  }
  return TakeWelcome(*event, connection);
}

absl::Status Dialer::NobodyListens(const std::string& evidence) const {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "nobody listens for RDMA connections at " + peer_ + " (" + evidence +
                        "): is the server running, with this port?");
}

absl::Status Dialer::TakeWelcome(const CmEvent& event, VerbsConnection& connection) {
  ConnectData data;
  if (event.type == RDMA_CM_EVENT_REJECTED) {
    if (!IsConnectData(event.private_data, &data)) {
      return NobodyListens("reject reason " + std::to_string(event.status));
    }
    const bool version = data.verdict == static_cast<uint16_t>(ConnectVerdict::kOtherVersion);
    return MakeStatus(
        version ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable,
        "the server at " + peer_ + " refuses the connection: " + DescribeVerdict(data.verdict));
  }
  if (event.type != RDMA_CM_EVENT_ESTABLISHED) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "connecting to " + peer_ + ": " + rdma_event_str(event.type) + " (status " +
                          std::to_string(event.status) +
                          "): the server's host does not answer, or only over another path");
  }
  ConnectVerdict verdict;
  if (std::string why = ParseConnectData(event.private_data, &data, &verdict); !why.empty()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "connecting to " + peer_ + ": " + why);
  }
  connection.SetPeer(data.receive_depth, data.message_bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RemoteConnection>> DialAddress(const std::string& peer,
                                                              Deadline deadline,
                                                              const VerbsOptions& options,
                                                              sockaddr* source, sockaddr* target) {
  for (int ports = 1;; ++ports) {
    Dialer dialer(peer, deadline, options);
    auto connection = dialer.Dial(source, target);
    const bool again = dialer.port_was_taken() && ports < kMostPorts && deadline.NanosLeft() > 0;
    if (connection.ok() || !again) return connection;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteConnection>> DialVerbs(const std::string& host,
                                                            const std::string& port,
                                                            Deadline deadline,
                                                            const VerbsOptions& options) {
  DUNLIN_RETURN_IF_ERROR(CheckOptions(options));
  DUNLIN_ASSIGN_OR_RETURN(const Addresses targets, Resolve(host, port));
  Addresses source;
  if (!options.source_address.empty()) {
    DUNLIN_ASSIGN_OR_RETURN(source, Resolve(options.source_address, ""));
  }
  const std::string peer = "rdma://" + host + ":" + port;
  absl::Status first;
  for (addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    if (source != nullptr && source->ai_family != target->ai_family) continue;
    auto connection = DialAddress(peer, deadline, options,
                                  source == nullptr ? nullptr : source->ai_addr, target->ai_addr);
    if (connection.ok()) return connection;
    first.Update(connection.status());
    if (deadline.NanosLeft() == 0) break;
  }
  if (!first.ok()) return first;
  return MakeStatus(absl::StatusCode::kInvalidArgument,
                    "no address of host '" + host + "' is of the family of the source address " +
                        options.source_address);
}

}  // namespace dunlin
