#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/kvctl/doctor/host_calls.h"

namespace dunlin::kvctl {

// The running host.
class SystemCalls final : public HostCalls {
 public:
  absl::StatusOr<std::vector<VerbsDevice>> Devices() override;
  int OpenError(const std::string& path) override;
  absl::StatusOr<FilesystemSpace> Space(const std::string& path) override;
  absl::StatusOr<std::multimap<std::string, std::string>> Addresses() override;
  LinkAnswers AskLink(const std::string& netdev) override;
};

}  // namespace dunlin::kvctl
