#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/fabric/remote.h"
#include "common/fabric/verbs/device_list.h"

namespace dunlin {

// Which agent executes the atomics on a region's words. There must be one: an adapter's atomics are
// atomic against each other, but not against those of the processor or of another adapter, unless
// the device promises that (VerbsAtomics::kGlobal).

enum class AtomicDomainRequest { kAuto, kNic, kCpu };
// "auto", "nic" or "cpu".
std::optional<AtomicDomainRequest> ParseAtomicDomainRequest(std::string_view text);

struct AtomicDomainFacts {
  struct Device {
    std::string name;
    VerbsAtomics atomics = VerbsAtomics::kNone;
  };
  std::vector<Device> devices;  // through which sessions may come
  bool shared_memory = false;   // sessions whose atomics are the processor's are served, too
  bool tcp = false;             // the same
};

struct AtomicDomainChoice {
  AtomicDomain domain = AtomicDomain::kCpu;
  std::string reason;  // for the log, behind "... executes atomics: "
};

// kAuto: the adapter if that is safe, else the processor. FailedPrecondition, with the remedy, if
// kNic is asked for and would let two agents share a word.
absl::StatusOr<AtomicDomainChoice> ChooseAtomicDomain(const AtomicDomainFacts& facts,
                                                      AtomicDomainRequest request);

}  // namespace dunlin
