#include "client/connect/target.h"

#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

struct Scheme {
  std::string_view prefix;
  Target::Fabric fabric;
};
constexpr Scheme kSchemes[] = {
    {"shm://", Target::Fabric::kShm},
    {"tcp://", Target::Fabric::kTcp},
    {"rdma://", Target::Fabric::kRdma},
};

const Scheme* SchemeOf(std::string_view text) {
  for (const Scheme& scheme : kSchemes) {
    if (text.starts_with(scheme.prefix)) return &scheme;
  }
  return nullptr;
}

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  Target target;
  target.text = std::string(text);
  const Scheme* scheme = SchemeOf(text);
  if (scheme == nullptr || text.size() == scheme->prefix.size()) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "target: expected shm://PATH, tcp://HOST:PORT or rdma://HOST:PORT, such as "
                      "shm:///run/dunlin/dunlin.sock, found '" +
                          target.text + "'");
  }
  target.fabric = scheme->fabric;
  const std::string_view rest = text.substr(scheme->prefix.size());
  if (target.fabric == Target::Fabric::kShm) {
    target.path = std::string(rest);
    return target;
  }
  absl::StatusOr<HostPort> address = ParseHostPort(rest);
  if (!address.ok()) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        "target " + target.text + ": " + std::string(FromAbsl(address.status().message())));
  }
  target.address = *std::move(address);
  return target;
}

// A path may contain commas: the next target begins with a scheme.
size_t EndOfTarget(std::string_view text) {
  for (size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',', comma + 1)) {
    if (SchemeOf(text.substr(comma + 1)) != nullptr) return comma;
  }
  return text.size();
}

}  // namespace

absl::StatusOr<std::vector<Target>> ParseTargets(std::string_view text) {
  std::vector<Target> targets;
  for (;;) {
    const size_t end = EndOfTarget(text);
    DUNLIN_ASSIGN_OR_RETURN(Target target, ParseTarget(text.substr(0, end)));
    targets.push_back(std::move(target));
    if (end == text.size()) return targets;
    text.remove_prefix(end + 1);
  }
}

}  // namespace dunlin
