#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/fabric/verbs/device_list.h"

namespace dunlin::kvctl {

struct FilesystemSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

// What a pluggable module says about itself; nothing that it doesn't measure.
struct ModuleReadings {
  std::optional<double> celsius, celsius_warning, celsius_alarm;
  std::vector<double> receive_microwatts, transmit_microwatts;  // one for each lane
  std::optional<double> receive_low_warning, receive_low_alarm;
};

// What a network interface's driver answers to ethtool's and DCB's questions. Not OK: it doesn't.
struct LinkAnswers {
  absl::StatusOr<std::string> fec = absl::UnavailableError("not asked");  // "RS", "BaseR", "off"
  absl::StatusOr<ModuleReadings> module = absl::UnavailableError("not asked");
  absl::StatusOr<uint8_t> pfc_enabled = absl::UnavailableError("not asked");  // bit: a priority
  absl::StatusOr<std::map<std::string, uint64_t>> statistics = absl::UnavailableError("not asked");
};

// What the doctor learns by calls rather than from files: the seam for tests. Not thread safe.
class HostCalls {
 public:
  virtual ~HostCalls() = default;

  virtual absl::StatusOr<std::vector<VerbsDevice>> Devices() = 0;
  // 0 if this process can open the file for reading and writing, else errno.
  virtual int OpenError(const std::string& path) = 0;
  virtual absl::StatusOr<FilesystemSpace> Space(const std::string& path) = 0;
  // "10.0.0.1", "fe80::1%eth0": by interface.
  virtual absl::StatusOr<std::multimap<std::string, std::string>> Addresses() = 0;
  virtual LinkAnswers AskLink(const std::string& netdev) = 0;
};

}  // namespace dunlin::kvctl
