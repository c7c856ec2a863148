#include "common/fabric/verbs/atomic_domain.h"

#include <algorithm>

#include "common/base/status.h"

namespace dunlin {
namespace {

std::string Names(const std::vector<AtomicDomainFacts::Device>& devices) {
  std::string names;
  for (const auto& device : devices) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

struct Obstacle {
  std::string what;  // empty: none
  std::string remedy;
};

// Why the adapter can't be the one agent.
Obstacle ObstacleToNic(const AtomicDomainFacts& facts) {
  if (facts.devices.empty()) return {"there is no RDMA device", "serve rdma://"};
  for (const auto& device : facts.devices) {
    if (device.atomics == VerbsAtomics::kNone) {
      return {"device " + device.name + " has no atomics",
              "listen on the address of a device that has"};
    }
  }
  const bool global =
      std::all_of(facts.devices.begin(), facts.devices.end(),
                  [](const auto& device) { return device.atomics == VerbsAtomics::kGlobal; });
  if (global) return {};
  if (facts.devices.size() > 1) {
    return {"sessions may come through several devices (" + Names(facts.devices) +
                "), whose atomics are not atomic against each other",
            "listen on the address of one device"};
  }
  if (facts.shared_memory || facts.tcp) {
    const char* which = !facts.tcp             ? "shared memory"
                        : !facts.shared_memory ? "tcp"
                                               : "shared memory and tcp";
    return {std::string("sessions over ") + which +
                " change words by the processor, against which " + facts.devices[0].name +
                "'s atomics are not atomic",
            "switch those sessions off"};
  }
  return {};
}

}  // namespace

std::optional<AtomicDomainRequest> ParseAtomicDomainRequest(std::string_view text) {
  if (text == "auto") return AtomicDomainRequest::kAuto;
  if (text == "nic") return AtomicDomainRequest::kNic;
  if (text == "cpu") return AtomicDomainRequest::kCpu;
  return std::nullopt;
}

absl::StatusOr<AtomicDomainChoice> ChooseAtomicDomain(const AtomicDomainFacts& facts,
                                                      AtomicDomainRequest request) {
  if (request == AtomicDomainRequest::kCpu) {
    return AtomicDomainChoice{AtomicDomain::kCpu, "so it was asked for"};
  }
  const Obstacle obstacle = ObstacleToNic(facts);
  if (obstacle.what.empty()) {
    const bool global = facts.devices[0].atomics == VerbsAtomics::kGlobal;
    const std::string reason =
        global ? "those of " + Names(facts.devices) + " are atomic against the processor's, too"
               : "all sessions come through " + Names(facts.devices);
    return AtomicDomainChoice{AtomicDomain::kNic, reason};
  }
  if (request == AtomicDomainRequest::kAuto) {
    return AtomicDomainChoice{AtomicDomain::kCpu, obstacle.what};
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the atomic domain 'nic' was asked for, but " + obstacle.what + ". Either " +
                        obstacle.remedy + ", or choose the atomic domain 'cpu' or 'auto'");
}

}  // namespace dunlin
