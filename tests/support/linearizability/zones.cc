#include "tests/support/linearizability/zones.h"

#include <algorithm>
#include <vector>

namespace dunlin::linearizability {
namespace {

// The operations that a version was current at: one had ended by `ended`, one began at `begun`.
// Where ended < begun, it was current from the one to the other.
struct Zone {
  int64_t ended = kNever;
  int64_t begun = INT64_MIN;
  const Step* ends = nullptr;
  const Step* begins = nullptr;

  void Add(const Step& step) {
    if (step.deadline < ended || ends == nullptr) {
      ended = step.deadline;
      ends = &step;
    }
    if (step.invoked > begun || begins == nullptr) {
      begun = step.invoked;
      begins = &step;
    }
  }
  bool certain() const { return ended < begun; }
};

std::string Explain(const Zone& a, const Zone& b) {
  std::string text = "a version came back after another was current:";
  std::vector<const Step*> steps = {a.ends, a.begins, b.ends, b.begins};
  std::sort(steps.begin(), steps.end(),
            [](const Step* x, const Step* y) { return x->invoked < y->invoked; });
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (const Step* step : steps) text += "\n  " + Describe(*step->source);
  return text;
}

}  // namespace

std::string ContradictionOfVersions(const Prepared& history) {
  std::vector<Zone> zones(history.versions.size());
  for (const Step& step : history.certain) {
    if (step.writes != kNone) zones[step.writes].Add(step);
    if (step.sees != kNone) zones[step.sees].Add(step);
  }
  std::vector<const Zone*> certain;
  for (const Zone& zone : zones) {
    if (zone.ends != nullptr && zone.certain()) certain.push_back(&zone);
  }
  std::sort(certain.begin(), certain.end(),
            [](const Zone* a, const Zone* b) { return a->ended < b->ended; });
  for (size_t i = 1; i < certain.size(); ++i) {
    if (certain[i]->ended < certain[i - 1]->begun) return Explain(*certain[i - 1], *certain[i]);
  }
  for (const Zone& zone : zones) {
    if (zone.ends == nullptr || zone.certain()) continue;
    auto after = std::lower_bound(certain.begin(), certain.end(), zone.begun,
                                  [](const Zone* a, int64_t at) { return a->ended < at; });
    if (after == certain.begin()) continue;
    const Zone& around = **std::prev(after);
    if (zone.ended < around.begun) return Explain(around, zone);
  }
  return "";
}

}  // namespace dunlin::linearizability
