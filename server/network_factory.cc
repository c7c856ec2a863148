#include <utility>

#include "common/base/host_port.h"
#include "common/base/status.h"
#include "common/fabric/tcp/tcp_endpoint.h"
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

}  // namespace

absl::StatusOr<Server::Network> OpenNetwork(const ServerOptions& options, const Region& region,
                                            Logger& logger) {
  Server::Network network;
  if (!options.tcp.empty()) {
    DUNLIN_ASSIGN_OR_RETURN(auto endpoint, ListenTcp(options, region));
    network.endpoints.push_back(std::move(endpoint));
  }
  logger.Info("atomics are executed by this processor: no RDMA is served");
  return network;
}

}  // namespace dunlin
