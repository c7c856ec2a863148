#include "bench/raw_verbs/raw_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace dunlin::bench {
namespace {

constexpr int kBacklog = 16;
constexpr size_t kSeats = 16;
constexpr int kRoundsBetweenEvents = 1024;

void Report(const absl::Status& status) {
  if (!status.ok() && !absl::IsCancelled(status))
    std::fprintf(stderr, "raw_verbs: %s\n", status.ToString().c_str());
}

}  // namespace

RawServer::RawServer()
    : memory_(kRegionBytes + kSeats * kMessages * kMessageBytes), seats_(kSeats) {
  FillReadArea(std::span(memory_).first(kReadArea));
}

RawServer::~RawServer() = default;

absl::StatusOr<std::unique_ptr<RawServer>> RawServer::Listen(const std::string& address,
                                                             uint16_t port) {
  std::unique_ptr<RawServer> server(new RawServer());
  DUNLIN_ASSIGN_OR_RETURN(server->events_, CreateEventChannel());
  DUNLIN_ASSIGN_OR_RETURN(auto local, ParseAddress(address, port));
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(server->events_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return ErrnoStatus("rdma_create_id");
  }
  server->listener_.reset(id);
  if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&local)) != 0) {
    return ErrnoStatus("can't bind " + address + ":" + std::to_string(port) +
                       " (expected the address of an RDMA device's interface)");
  }
  if (rdma_listen(id, kBacklog) != 0) return ErrnoStatus("rdma_listen");
  return server;
}

uint16_t RawServer::port() const { return ntohs(rdma_get_src_port(listener_.get())); }

absl::Status RawServer::Serve() {
  while (true) {
    const bool busy = std::ranges::any_of(
        connections_, [](const auto& each) { return each->poll != PollMode::kBlock; });
    DUNLIN_RETURN_IF_ERROR(Wait(busy ? 0 : -1));
    DUNLIN_RETURN_IF_ERROR(HandleEvents());
    for (int round = 0; round < (busy ? kRoundsBetweenEvents : 1); ++round) ServeConnections();
  }
}

absl::Status RawServer::Wait(int timeout_ms) {
  std::vector<pollfd> files{{.fd = events_->fd, .events = POLLIN, .revents = 0}};
  for (const auto& connection : connections_) {
    files.push_back({.fd = connection->pair->channel()->fd, .events = POLLIN, .revents = 0});
  }
  if (::poll(files.data(), files.size(), timeout_ms) < 0 && errno != EINTR) {
    return ErrnoStatus("poll");
  }
  return absl::OkStatus();
}

absl::Status RawServer::HandleEvents() {
  while (true) {
    absl::StatusOr<CmEvent> event = NextEvent(events_.get(), 0);
    if (absl::IsDeadlineExceeded(event.status())) return absl::OkStatus();
    DUNLIN_RETURN_IF_ERROR(event.status());
    rdma_cm_id* const id = (*event)->id;
    const rdma_cm_event_type type = (*event)->event;
    RawHello hello{.magic = 0};
    const rdma_conn_param& request = (*event)->param.conn;
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST && request.private_data != nullptr &&
        request.private_data_len >= sizeof(hello)) {
      std::memcpy(&hello, request.private_data, sizeof(hello));
    }
    // An id can't be destroyed while an event of its is held.
    event->reset();
    switch (type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        Report(Accept(CmId(id), hello));
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return absl::UnavailableError("the RDMA device was removed");
      default:
        Close(id);
    }
  }
}

absl::Status RawServer::Accept(CmId id, const RawHello& hello) {
  const auto seat = std::ranges::find(seats_, false);
  if (hello.magic != kRawMagic || seat == seats_.end()) {
    rdma_reject(id.get(), nullptr, 0);
    return absl::UnavailableError("rejected a client: unknown greeting, or too many clients");
  }
  auto connection = std::make_unique<Connection>();
  connection->id = std::move(id);
  connection->poll = hello.poll;
  connection->seat = static_cast<uint32_t>(seat - seats_.begin());
  DUNLIN_ASSIGN_OR_RETURN(connection->pair, QueuePair::Create(connection->id.get(), memory_));
  QueuePair& pair = *connection->pair;
  for (uint64_t i = 0; i < kMessages; ++i) {
    DUNLIN_RETURN_IF_ERROR(pair.PostReceive(Message(*connection, i), kMessageBytes, i));
  }
  DUNLIN_RETURN_IF_ERROR(pair.Arm());
  const RawOffer offer{.rkey = pair.rkey(),
                       .address = reinterpret_cast<uint64_t>(memory_.data()),
                       .has_atomics = pair.has_atomics() ? 1u : 0u};
  rdma_conn_param parameters =
      pair.ConnectionParameters(std::as_bytes(std::span<const RawOffer, 1>(&offer, 1)));
  if (rdma_accept(connection->id.get(), &parameters) != 0) return ErrnoStatus("rdma_accept");
  *seat = true;
  connections_.push_back(std::move(connection));
  return absl::OkStatus();
}

void RawServer::ServeConnections() {
  bool yields = false;
  std::vector<const rdma_cm_id*> failed;
  for (const auto& connection : connections_) {
    yields |= connection->poll == PollMode::kYield;
    if (absl::Status status = Echo(*connection); !status.ok()) {
      Report(status);
      failed.push_back(connection->id.get());
    }
  }
  for (const rdma_cm_id* id : failed) Close(id);
  if (yields) ::sched_yield();
}

absl::Status RawServer::Echo(Connection& connection) {
  QueuePair& pair = *connection.pair;
  if (connection.poll == PollMode::kBlock) {
    // Armed before the queue is emptied, so that what comes in between raises a notification.
    DUNLIN_RETURN_IF_ERROR(pair.TakeNotification());
    DUNLIN_RETURN_IF_ERROR(pair.Arm());
  }
  std::array<ibv_wc, kMessages> found;
  while (true) {
    DUNLIN_ASSIGN_OR_RETURN(const int count, pair.Poll(found));
    if (count == 0) return absl::OkStatus();
    for (int i = 0; i < count; ++i) DUNLIN_RETURN_IF_ERROR(EchoOne(connection, found[i]));
  }
}

absl::Status RawServer::EchoOne(Connection& connection, const ibv_wc& message) {
  QueuePair& pair = *connection.pair;
  std::byte* const buffer = Message(connection, message.wr_id);
  // An echo has left: its buffer is free for the next message.
  if ((message.opcode & IBV_WC_RECV) == 0) {
    return pair.PostReceive(buffer, kMessageBytes, message.wr_id);
  }
  ibv_sge part{
      .addr = reinterpret_cast<uint64_t>(buffer), .length = message.byte_len, .lkey = pair.lkey()};
  ibv_send_wr echo{};
  echo.wr_id = message.wr_id;
  echo.opcode = IBV_WR_SEND;
  echo.send_flags = IBV_SEND_SIGNALED;
  if (message.byte_len <= pair.inline_bytes()) echo.send_flags |= IBV_SEND_INLINE;
  echo.sg_list = &part;
  echo.num_sge = 1;
  return pair.PostSend(&echo);
}

void RawServer::Close(const rdma_cm_id* id) {
  const auto found =
      std::ranges::find_if(connections_, [id](const auto& each) { return each->id.get() == id; });
  if (found == connections_.end()) return;
  rdma_disconnect((*found)->id.get());
  seats_[(*found)->seat] = false;
  connections_.erase(found);
}

std::byte* RawServer::Message(const Connection& connection, uint64_t index) {
  return memory_.data() + kRegionBytes + (connection.seat * kMessages + index) * kMessageBytes;
}

}  // namespace dunlin::bench
