#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "client/kvctl/doctor/host_calls.h"

namespace dunlin::kvctl {

// What a driver answers to ethtool's ioctls. None needs a privilege but the module's memory, which
// takes CAP_NET_ADMIN. Errors: Unavailable, with the ioctl's name and reason.
absl::StatusOr<std::string> QueryFec(const std::string& netdev);
absl::StatusOr<ModuleReadings> QueryModule(const std::string& netdev);
absl::StatusOr<std::map<std::string, uint64_t>> QueryStatistics(const std::string& netdev);

}  // namespace dunlin::kvctl
