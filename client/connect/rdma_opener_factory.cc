#include <utility>

#include "client/connect/opener.h"
#include "common/fabric/verbs/verbs_dial.h"

namespace dunlin {

std::unique_ptr<Opener> MakeRdmaOpener(HostPort address, std::shared_ptr<ForkGuard> guard) {
  Dial dial = [address = std::move(address)](Deadline deadline) {
    return DialVerbs(address.host, address.port, deadline, VerbsOptions());
  };
  return MakeRemoteOpener(std::move(dial), std::move(guard));
}

}  // namespace dunlin
