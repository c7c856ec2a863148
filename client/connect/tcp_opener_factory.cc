#include <utility>

#include "client/connect/opener.h"
#include "common/base/status.h"
#include "common/fabric/tcp/tcp_connect.h"
#include "common/fabric/tcp/tcp_connection.h"

namespace dunlin {

std::unique_ptr<Opener> MakeTcpOpener(HostPort address, std::chrono::milliseconds silence,
                                      std::shared_ptr<ForkGuard> guard) {
  Dial dial = [address = std::move(address), silence = static_cast<int>(silence.count())](
                  Deadline deadline) -> absl::StatusOr<std::unique_ptr<RemoteConnection>> {
    DUNLIN_ASSIGN_OR_RETURN(UniqueFd socket,
                            TcpConnect(address.host, address.port, deadline, silence));
    return std::make_unique<TcpConnection>(std::move(socket));
  };
  return MakeRemoteOpener(std::move(dial), std::move(guard));
}

}  // namespace dunlin
