#include <netdb.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <bit>
#include <cerrno>
#include <utility>

#include "common/base/status.h"
#include "common/fabric/verbs/loopback.h"
#include "common/fabric/verbs/memory_lock.h"
#include "common/fabric/verbs/verbs_atomic_agent.h"
#include "common/fabric/verbs/verbs_endpoint.h"

// How a VerbsEndpoint comes to be.

namespace dunlin {
namespace {

constexpr int kBacklog = 256;

using Addresses = std::unique_ptr<addrinfo, VerbsDeleter<&freeaddrinfo>>;

absl::StatusOr<Addresses> ResolveToListen(const std::string& address, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.empty() ? nullptr : address.c_str(), port.c_str(), &hints, &found);
  if (error == 0) return Addresses(found);
  return MakeStatus(absl::StatusCode::kInvalidArgument, "rdma: address '" + address + "', port '" +
                                                            port + "': " + ::gai_strerror(error));
}

// The first port of the device that is up; 0 if none is.
uint8_t ActivePort(ibv_context* context) {
  ibv_device_attr device{};
  if (ibv_query_device(context, &device) != 0) return 0;
  for (uint8_t port = 1; port <= device.phys_port_cnt; ++port) {
    ibv_port_attr attributes{};
    if (ibv_query_port(context, port, &attributes) != 0) continue;
    if (attributes.state == IBV_PORT_ACTIVE) return port;
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsEndpoint>> VerbsEndpoint::Create(
    const VerbsEndpointOptions& options) {
  if (!std::has_single_bit(options.staging_bytes) ||
      options.staging_bytes < 4 * options.message_bytes ||
      options.message_bytes < kLeastMessageBytes || options.message_bytes > kMostMessageBytes ||
      options.receive_depth < Credits::kLeastDepth || options.receive_depth > kMostReceiveDepth ||
      options.region.empty() || options.log == nullptr || options.clock == nullptr) {
    return absl::InvalidArgumentError("the options of the verbs endpoint are out of range");
  }
  std::unique_ptr<VerbsEndpoint> endpoint(new VerbsEndpoint(options));
  DUNLIN_RETURN_IF_ERROR(endpoint->Listen());
  DUNLIN_RETURN_IF_ERROR(endpoint->OpenDevices());
  DUNLIN_RETURN_IF_ERROR(endpoint->ChooseDomain());
  DUNLIN_RETURN_IF_ERROR(endpoint->RegisterRegion());
  DUNLIN_RETURN_IF_ERROR(endpoint->WatchDescriptors());
  endpoint->NameItself();
  return endpoint;
}

// On all addresses there is one listener for each family: one for both, as IPv6's wildcard would
// be, does not take IPv4's connections on every transport.
absl::Status VerbsEndpoint::Listen() {
  DUNLIN_ASSIGN_OR_RETURN(CmEvents events, CmEvents::Create());
  events_ = std::make_shared<CmEvents>(std::move(events));
  DUNLIN_ASSIGN_OR_RETURN(const Addresses addresses,
                          ResolveToListen(options_.address, options_.port));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* pass = addresses.get(); pass != nullptr; pass = pass->ai_next) {
    if (const int failed = ListenAt(pass->ai_addr); failed != 0) {
      if (listeners_.empty()) error = failed;
    } else if (!options_.address.empty()) {
      break;
    }
  }
  if (!listeners_.empty()) return absl::OkStatus();
  const std::string where =
      (options_.address.empty() ? "*" : options_.address) + ":" + options_.port;
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "rdma: cannot listen at " + where + " (" + ErrnoText(error) +
                        "): expected a free port at an address of an RDMA adapter of this host; "
                        "'kvctl doctor' shows them");
}

// 0, or an errno. A second listener gets the first one's port.
int VerbsEndpoint::ListenAt(sockaddr* address) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(events_->get(), &id, nullptr, RDMA_PS_TCP) != 0) return errno;
  CmId listener(id);
  if (address->sa_family == AF_INET6) {
    int only = 1;
    if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof only) != 0) {
      return errno;
    }
  }
  // The port is at the same place in both families.
  if (port_ != 0) reinterpret_cast<sockaddr_in*>(address)->sin_port = htobe16(port_);
  if (rdma_bind_addr(id, address) != 0 || rdma_listen(id, kBacklog) != 0) return errno;
  port_ = be16toh(rdma_get_src_port(id));
  listeners_.push_back(std::move(listener));
  return 0;
}

absl::Status VerbsEndpoint::OpenDevices() {
  rdma_cm_id* const listener = listeners_[0].get();
  if (!HasNoDevice(listener)) {
    DUNLIN_ASSIGN_OR_RETURN(auto device, OpenServerDevice(listener->verbs, listener->port_num));
    devices_.push_back(std::move(device));
    return absl::OkStatus();
  }
  int count = 0;
  ibv_context** contexts = rdma_get_devices(&count);
  absl::Status status;
  for (int i = 0; i < count && status.ok(); ++i) {
    const uint8_t port = ActivePort(contexts[i]);
    if (port == 0) continue;
    auto device = OpenServerDevice(contexts[i], port);
    status = device.status();
    if (device.ok()) devices_.push_back(*std::move(device));
  }
  if (contexts != nullptr) rdma_free_devices(contexts);
  DUNLIN_RETURN_IF_ERROR(status);
  if (!devices_.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      "rdma: this host has no RDMA adapter with an active port; 'kvctl doctor' says more");
}

absl::Status VerbsEndpoint::ChooseDomain() {
  AtomicDomainFacts facts;
  for (const auto& device : devices_) {
    facts.devices.push_back({device->limits.name, device->limits.atomics});
  }
  facts.shared_memory = options_.shared_memory_sessions;
  facts.tcp = options_.tcp_sessions;
  DUNLIN_ASSIGN_OR_RETURN(domain_, ChooseAtomicDomain(facts, options_.domain));
  if (domain_.domain != AtomicDomain::kNic) return absl::OkStatus();
  for (const auto& device : devices_) {
    DUNLIN_RETURN_IF_ERROR(TestOrderOfAtomics(device));
  }
  return absl::OkStatus();
}

absl::Status VerbsEndpoint::RegisterRegion() {
  constexpr uint64_t kSets = 2;  // all rights, and reading alone
  DUNLIN_RETURN_IF_ERROR(
      CheckMemoryLock(ReadMemoryLock(), options_.region.size() * kSets * devices_.size()));
  for (const auto& device : devices_) {
    uint64_t most = device->limits.max_mr_bytes;
    if (options_.max_mr_bytes != 0) most = std::min(most, options_.max_mr_bytes);
    DUNLIN_ASSIGN_OR_RETURN(device->memory,
                            RegionMemory::Register(device->pd.get(), options_.region, most,
                                                   domain_.domain == AtomicDomain::kNic));
  }
  return absl::OkStatus();
}

absl::Status VerbsEndpoint::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return UnavailableFrom("watching a descriptor", errno);
}

absl::Status VerbsEndpoint::WatchDescriptors() {
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid()) return UnavailableFrom("epoll and eventfd", errno);
  DUNLIN_RETURN_IF_ERROR(Watch(wake_.get()));
  DUNLIN_RETURN_IF_ERROR(Watch(events_->fd()));
  for (const auto& device : devices_) {
    DUNLIN_RETURN_IF_ERROR(Watch(device->channel->fd));
    DUNLIN_RETURN_IF_ERROR(Watch(device->context->async_fd));
  }
  return absl::OkStatus();
}

void VerbsEndpoint::NameItself() {
  std::string names;
  for (const auto& device : devices_) names += (names.empty() ? "" : ", ") + device->limits.name;
  const std::string where = options_.address.empty()
                                ? "*:" + std::to_string(port_)
                                : AddressText(rdma_get_local_addr(listeners_[0].get()));
  name_ = "rdma://" + where + " (" + names + ")";
}

absl::StatusOr<std::unique_ptr<AtomicAgent>> VerbsEndpoint::OpenAtomicAgent() const {
  if (domain_.domain != AtomicDomain::kNic || devices_.empty()) {
    return absl::UnavailableError("no adapter executes this region's atomics");
  }
  DUNLIN_ASSIGN_OR_RETURN(auto loopback, Loopback::Open(devices_[0]));
  return std::make_unique<VerbsAtomicAgent>(std::move(loopback), options_.region.size());
}

}  // namespace dunlin
