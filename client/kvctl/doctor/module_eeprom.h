#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "client/kvctl/doctor/host_calls.h"

namespace dunlin::kvctl {

// How ETHTOOL_GMODULEINFO says that a module's memory is laid out (linux/ethtool.h).
enum class ModuleLayout : uint32_t { kSff8079 = 1, kSff8472 = 2, kSff8636 = 3, kSff8436 = 4 };

// Reads temperature, light and their limits from a module's memory, as SFF-8472 (SFP), SFF-8636
// (QSFP) and CMIS (QSFP-DD, OSFP; temperature only) lay them out. Copper cables answer with
// Unavailable, and so does a layout or a length that has none of it.
absl::StatusOr<ModuleReadings> ReadModule(ModuleLayout layout, std::span<const uint8_t> memory);

}  // namespace dunlin::kvctl
