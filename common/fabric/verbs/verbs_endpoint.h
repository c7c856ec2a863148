#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/fabric/atomic_agent.h"
#include "common/fabric/endpoint.h"
#include "common/fabric/verbs/atomic_domain.h"
#include "common/fabric/verbs/cm_events.h"
#include "common/fabric/verbs/endpoint_options.h"
#include "common/fabric/verbs/server_device.h"
#include "common/fabric/verbs/verbs_peer.h"

namespace dunlin {

// Serves a region to clients on InfiniBand, RoCE and iWARP. Peers may outlive it.
//
// Creating one registers the region with each adapter through which peers may come (about a second
// per GiB with small pages), decides on the atomic domain, and, if that is an adapter, has it show
// that a compare-and-swap takes effect between the WRITE before and the READ after it.
class VerbsEndpoint final : public Endpoint, private PeerKeeper {
 public:
  // Errors name what was found and the remedy: Unavailable (no RDMA here, the address can't be
  // had), InvalidArgument (no such address), FailedPrecondition (locked memory, atomic domain, a
  // device that doesn't do what it says), ResourceExhausted (the adapter takes no more).
  static absl::StatusOr<std::unique_ptr<VerbsEndpoint>> Create(const VerbsEndpointOptions& options);
  ~VerbsEndpoint() override;
  VerbsEndpoint(const VerbsEndpoint&) = delete;
  VerbsEndpoint& operator=(const VerbsEndpoint&) = delete;

  // Endpoint.
  absl::Status WatchIn(int epoll, uint64_t data) override;
  void Progress(uint64_t number, uint32_t events,
                std::vector<std::unique_ptr<EndpointPeer>>& accepted,
                std::vector<Ready>& ready) override;
  void Probe() override;
  void StopAccepting() override;
  const std::string& name() const override { return name_; }

  AtomicDomain domain() const { return domain_.domain; }
  const std::string& domain_reason() const { return domain_.reason; }
  // The port that it listens on.
  uint16_t port() const { return port_; }

  // How the server itself changes words in domain kNic. The agent may outlive the endpoint, but not
  // the region. Errors: Unavailable, ResourceExhausted.
  absl::StatusOr<std::unique_ptr<AtomicAgent>> OpenAtomicAgent() const;

 private:
  explicit VerbsEndpoint(const VerbsEndpointOptions& options) : options_(options) {}

  // Setting up.
  absl::Status Listen();
  int ListenAt(sockaddr* address);
  absl::Status OpenDevices();
  absl::Status ChooseDomain();
  absl::Status RegisterRegion();
  absl::Status WatchDescriptors();
  absl::Status Watch(int fd);
  void NameItself();

  // Progress.
  void TakeCmEvents(std::vector<std::unique_ptr<EndpointPeer>>& accepted);
  void TakeEventsOf(int fd);
  void TakeCompletionEvents(ServerDevice& device);
  void TakeDeviceEvents(ServerDevice& device);
  void OnConnectRequest(const CmEvent& event);
  void Reject(rdma_cm_id* id, ConnectVerdict verdict, const std::string& why);
  void OnEstablished(VerbsPeer* peer, std::vector<std::unique_ptr<EndpointPeer>>& accepted);
  void OnEnded(const CmEvent& event, VerbsPeer* peer);
  void OnDeviceRemoved(const ibv_context* context, const std::string& why);
  void OnQueuePairEvent(const ibv_async_event& event);
  std::shared_ptr<ServerDevice> DeviceOf(const ibv_context* context) const;
  // Has something to tell, perhaps.
  void List(VerbsPeer* peer);
  void Wake();
  void TellReady(std::vector<Ready>& ready);
  void Forget(VerbsPeer* peer) override;

  const VerbsEndpointOptions options_;
  std::string name_;
  uint16_t port_ = 0;
  AtomicDomainChoice domain_;
  std::shared_ptr<CmEvents> events_;
  std::vector<CmId> listeners_;
  bool stopped_ = false;
  std::vector<std::shared_ptr<ServerDevice>> devices_;
  UniqueFd epoll_;
  UniqueFd wake_;  // eventfd: readable while listed_ waits for the next Progress

  std::unordered_map<VerbsPeer*, std::unique_ptr<VerbsPeer>> pending_;  // not yet established
  std::unordered_set<VerbsPeer*> peers_;                                // all that exist
  std::vector<VerbsPeer*> listed_;
};

}  // namespace dunlin
