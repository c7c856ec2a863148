#include "common/fabric/verbs/verbs_endpoint.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

// What one Progress does of each kind at most; the descriptor stays readable for the rest.
constexpr int kMostCmEvents = 64;
constexpr int kMostCompletionEvents = 256;
constexpr int kMostDeviceEvents = 16;
constexpr int kMostDescriptors = 16;
// A peer costs memory before it has shown that it is there.
constexpr size_t kMostPending = 256;

}  // namespace

VerbsEndpoint::~VerbsEndpoint() {
  pending_.clear();
  for (VerbsPeer* peer : peers_) peer->SetKeeper(nullptr);
}

absl::Status VerbsEndpoint::WatchIn(int epoll, uint64_t data) {
  // A set of its own: adapters come and go.
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, epoll_.get(), &event) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "epoll_ctl");
}

void VerbsEndpoint::Progress(uint64_t, uint32_t,
                             std::vector<std::unique_ptr<EndpointPeer>>& accepted,
                             std::vector<Ready>& ready) {
  std::array<epoll_event, kMostDescriptors> due;
  const int n = ::epoll_wait(epoll_.get(), due.data(), kMostDescriptors, 0);
  const size_t first_accepted = accepted.size();
  for (int i = 0; i < n; ++i) {
    const int fd = due[static_cast<size_t>(i)].data.fd;
    if (fd == wake_.get()) {
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t taken = ::read(fd, &wakes, sizeof wakes);
    } else if (fd == events_->fd()) {
      TakeCmEvents(accepted);
    } else {
      TakeEventsOf(fd);
    }
  }
  if (accepted.size() == first_accepted) return TellReady(ready);
  // The new ones have no tag yet: what they, and so all, have to tell is for the next call.
  Wake();
}

void VerbsEndpoint::TakeEventsOf(int fd) {
  for (const auto& device : devices_) {
    if (device->channel->fd == fd) return TakeCompletionEvents(*device);
    if (device->context->async_fd == fd) {
      // The device may be dropped meanwhile.
      const std::shared_ptr<ServerDevice> kept = device;
      return TakeDeviceEvents(*kept);
    }
  }
}

void VerbsEndpoint::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
}

void VerbsEndpoint::TakeCmEvents(std::vector<std::unique_ptr<EndpointPeer>>& accepted) {
  for (int i = 0; i < kMostCmEvents; ++i) {
    const std::optional<CmEvent> event = events_->Next();
    if (!event.has_value()) return;
    if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      OnConnectRequest(*event);
      continue;
    }
    VerbsPeer* peer = static_cast<VerbsPeer*>(event->id->context);
    if (peer == nullptr) {
      if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
        OnDeviceRemoved(event->id->verbs, "was removed");
      }
    } else if (event->type == RDMA_CM_EVENT_ESTABLISHED) {
      OnEstablished(peer, accepted);
    } else {
      OnEnded(*event, peer);
    }
  }
}

void VerbsEndpoint::OnConnectRequest(const CmEvent& event) {
  ConnectData hello{};
  ConnectVerdict verdict;
  std::string why = ParseConnectData(event.private_data, &hello, &verdict);
  const std::shared_ptr<ServerDevice> device = DeviceOf(event.id->verbs);
  if (!why.empty()) return Reject(event.id, verdict, why);
  if (stopped_) return Reject(event.id, ConnectVerdict::kStopping, "");
  if (device == nullptr || device->removed) {
    return Reject(event.id, ConnectVerdict::kOtherDevice,
                  "it came through a device with which the region is not registered");
  }
  if (peers_.size() >= options_.max_peers || pending_.size() >= kMostPending) {
    return Reject(event.id, ConnectVerdict::kTooMany,
                  "there are " + std::to_string(peers_.size()) + " connections, " +
                      std::to_string(pending_.size()) + " of them being made");
  }
  auto peer = VerbsPeer::Create(event.id, device, hello, options_, domain_.domain);
  if (!peer.ok()) {
    return Reject(event.id, ConnectVerdict::kNoResources,
                  std::string(FromAbsl(peer.status().message())));
  }
  VerbsPeer* made = peer->get();
  event.id->context = made;
  made->SetKeeper(this);
  peers_.insert(made);
  if (absl::Status status = made->Accept(CmId(event.id), events_, event, options_); !status.ok()) {
    options_.log->Warning(made->name() + ": " + std::string(FromAbsl(status.message())));
    return;
  }
  pending_.emplace(made, *std::move(peer));
}

void VerbsEndpoint::Reject(rdma_cm_id* id, ConnectVerdict verdict, const std::string& why) {
  if (!why.empty()) {
    options_.log->Warning("rdma " + AddressText(rdma_get_peer_addr(id)) +
                          ": connection refused: " + why);
  }
  ConnectData data = MakeConnectData(options_.message_bytes, options_.receive_depth);
  data.verdict = static_cast<uint16_t>(verdict);
  // Should it fail, destroying the id refuses as well, without a reason.
  rdma_reject(id, &data, sizeof data);
  rdma_destroy_id(id);
}

void VerbsEndpoint::OnEstablished(VerbsPeer* peer,
                                  std::vector<std::unique_ptr<EndpointPeer>>& accepted) {
  auto found = pending_.find(peer);
  if (found == pending_.end()) return;
  std::unique_ptr<VerbsPeer> established = std::move(found->second);
  pending_.erase(found);
  peer->established = true;
  List(peer);
  accepted.push_back(std::move(established));
}

void VerbsEndpoint::OnEnded(const CmEvent& event, VerbsPeer* peer) {
  switch (event.type) {
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
      break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return OnDeviceRemoved(event.id->verbs, "was removed");
    case RDMA_CM_EVENT_ADDR_CHANGE:
      peer->OnFailure(absl::UnavailableError("the adapter's address has changed"));
      return List(peer);
    default:
      return;
  }
  if (pending_.erase(peer) != 0) return;
  peer->OnHangUp();
  List(peer);
}

void VerbsEndpoint::TakeCompletionEvents(ServerDevice& device) {
  for (int i = 0; i < kMostCompletionEvents; ++i) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(device.channel.get(), &cq, &context) != 0) return;
    VerbsPeer* peer = static_cast<VerbsPeer*>(context);
    peer->OnCompletionEvent();
    List(peer);
  }
}

void VerbsEndpoint::TakeDeviceEvents(ServerDevice& device) {
  for (int i = 0; i < kMostDeviceEvents && !device.removed; ++i) {
    ibv_async_event event{};
    if (ibv_get_async_event(device.context, &event) != 0) return;
    const std::string what =
        "adapter " + device.limits.name + ": " + ibv_event_type_str(event.event_type);
    switch (event.event_type) {
      case IBV_EVENT_PORT_ERR:
        options_.log->Warning(what + ", port " + std::to_string(event.element.port_num) +
                              ": sessions over it fail until it is back");
        break;
      case IBV_EVENT_PORT_ACTIVE:
        options_.log->Info(what + ", port " + std::to_string(event.element.port_num));
        break;
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
      case IBV_EVENT_COMM_EST:
        OnQueuePairEvent(event);
        break;
      default:
        options_.log->Debug(what);
    }
    const ibv_event_type type = event.event_type;
    ibv_ack_async_event(&event);
    if (type == IBV_EVENT_DEVICE_FATAL) OnDeviceRemoved(device.context, "has failed");
  }
}

void VerbsEndpoint::OnQueuePairEvent(const ibv_async_event& event) {
  VerbsPeer* peer = static_cast<VerbsPeer*>(event.element.qp->qp_context);
  // Others of this process may use the device, too.
  if (peers_.count(peer) == 0) return;
  if (event.event_type == IBV_EVENT_COMM_EST) {
    // The peer's confirmation got lost, but its first message didn't.
    rdma_notify(peer->id(), IBV_EVENT_COMM_EST);
    return;
  }
  const std::string why =
      std::string("the queue pair has failed: ") + ibv_event_type_str(event.event_type);
  options_.log->Warning(peer->name() + ": " + why);
  peer->OnFailure(MakeStatus(absl::StatusCode::kUnavailable, why));
  List(peer);
}

void VerbsEndpoint::OnDeviceRemoved(const ibv_context* context, const std::string& why) {
  const std::shared_ptr<ServerDevice> device = DeviceOf(context);
  if (device == nullptr || device->removed) return;
  device->removed = true;
  options_.log->Error("adapter " + device->limits.name + " " + why +
                      ": its sessions are closed; restart the server once it is back");
  for (auto at = pending_.begin(); at != pending_.end();) {
    at = &at->second->device() == device.get() ? pending_.erase(at) : std::next(at);
  }
  for (VerbsPeer* peer : peers_) {
    if (&peer->device() != device.get()) continue;
    peer->OnFailure(MakeStatus(absl::StatusCode::kUnavailable,
                               "the adapter " + device->limits.name + " " + why));
    List(peer);
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, device->channel->fd, nullptr);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, device->context->async_fd, nullptr);
  // The last of its peers releases what is registered with it.
  std::erase(devices_, device);
}

std::shared_ptr<ServerDevice> VerbsEndpoint::DeviceOf(const ibv_context* context) const {
  for (const auto& device : devices_) {
    if (device->context == context) return device;
  }
  return nullptr;
}

void VerbsEndpoint::List(VerbsPeer* peer) {
  if (peer->listed || !peer->established) return;
  peer->listed = true;
  listed_.push_back(peer);
}

void VerbsEndpoint::TellReady(std::vector<Ready>& ready) {
  for (VerbsPeer* peer : listed_) {
    peer->listed = false;
    if (std::optional<Ready> what = peer->TakeReady()) ready.push_back(*what);
  }
  listed_.clear();
}

void VerbsEndpoint::Forget(VerbsPeer* peer) {
  peers_.erase(peer);
  if (peer->listed) std::erase(listed_, peer);
}

void VerbsEndpoint::Probe() {
  const int64_t now = options_.clock->NowNanos();
  const int64_t most = std::chrono::nanoseconds(options_.handshake_time).count();
  for (auto at = pending_.begin(); at != pending_.end();) {
    at = now - at->first->requested_at() > most ? pending_.erase(at) : std::next(at);
  }
  for (VerbsPeer* peer : peers_) {
    if (peer->established && !peer->ProbeIfIdle()) List(peer);
  }
  if (!listed_.empty()) Wake();
}

void VerbsEndpoint::StopAccepting() { stopped_ = true; }

}  // namespace dunlin
