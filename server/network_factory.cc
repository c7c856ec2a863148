#include <utility>

#include "common/base/host_port.h"
#include "common/base/status.h"
#include "common/fabric/tcp/tcp_endpoint.h"
#include "common/fabric/verbs/verbs_endpoint.h"
#include "server/network.h"

namespace dunlin {
namespace {

absl::StatusOr<std::unique_ptr<Endpoint>> ListenTcp(const ServerOptions& options,
                                                    const Region& region) {
  DUNLIN_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.tcp));
  TcpEndpoint::Options tcp;
  tcp.host = address.host;
  tcp.port = address.port;
  tcp.region_bytes = region.plan().region_bytes;
  tcp.silence_ms = static_cast<int>(options.peer_timeout / 1'000'000);
  DUNLIN_ASSIGN_OR_RETURN(auto endpoint, TcpEndpoint::Listen(tcp));
  return endpoint;
}

AtomicDomainRequest DomainRequest(const ServerOptions& options) {
  switch (static_cast<Atomics>(options.atomics)) {
    case Atomics::kNic:
      return AtomicDomainRequest::kNic;
    case Atomics::kCpu:
      return AtomicDomainRequest::kCpu;
    case Atomics::kAuto:
      break;
  }
  return AtomicDomainRequest::kAuto;
}

absl::Status ListenRdma(const ServerOptions& options, const Region& region, const Clock* clock,
                        Logger& logger, Server::Network& network) {
  DUNLIN_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.rdma));
  VerbsEndpointOptions verbs;
  verbs.address = address.host;
  verbs.port = address.port;
  verbs.region = {region.base(), region.plan().region_bytes};
  verbs.domain = DomainRequest(options);
  verbs.shared_memory_sessions =
      static_cast<ShmSessions>(options.shm_sessions) == ShmSessions::kAlways;
  verbs.tcp_sessions = !options.tcp.empty();
  verbs.log = &logger;
  verbs.clock = clock;
  verbs.max_peers = static_cast<uint32_t>(options.max_sessions) + 64;
  DUNLIN_ASSIGN_OR_RETURN(auto endpoint, VerbsEndpoint::Create(verbs));
  const bool nic = endpoint->domain() == AtomicDomain::kNic;
  logger.Info("atomics are executed by " + std::string(nic ? "the adapter: " : "this processor: ") +
              endpoint->domain_reason());
  if (nic) {
    DUNLIN_ASSIGN_OR_RETURN(network.atomics, endpoint->OpenAtomicAgent());
    if (!verbs.shared_memory_sessions) {
      network.no_shm_because =
          "an RDMA adapter executes the atomics of this server's words, which a processor must not "
          "change then; connect with rdma://, or start the server with --shm-sessions=always";
    }
  }
  network.endpoints.push_back(std::move(endpoint));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Server::Network> OpenNetwork(const ServerOptions& options, const Region& region,
                                            const Clock* clock, Logger& logger) {
  Server::Network network;
  if (static_cast<ShmSessions>(options.shm_sessions) == ShmSessions::kNever) {
    network.no_shm_because = "the server was started with --shm-sessions=never";
  }
  if (!options.tcp.empty()) {
    DUNLIN_ASSIGN_OR_RETURN(auto endpoint, ListenTcp(options, region));
    network.endpoints.push_back(std::move(endpoint));
  }
  if (!options.rdma.empty()) {
    DUNLIN_RETURN_IF_ERROR(ListenRdma(options, region, clock, logger, network));
  }
  return network;
}

}  // namespace dunlin
