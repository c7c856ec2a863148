#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {

Scenario Base(std::string group, std::string name) {
  Scenario s;
  s.name = group + "/" + name;
  s.group = std::move(group);
  s.keys = {{.bytes = "a", .hash = HashOf(5, 0)},
            {.bytes = "b", .hash = HashOf(5, 0)},
            {.bytes = "c", .hash = HashOf(5, 1)}};
  return s;
}

Scenario BaseWithKey(std::string group, std::string name) {
  Scenario s = Base(std::move(group), std::move(name));
  s.initial = {{.key = 0, .bucket = 0, .slot = 0}};
  return s;
}

namespace {

bool SearchesCold(const Scenario& s) {
  for (const ClientPlan& client : s.clients) {
    for (const Op& op : client.ops) {
      if (!op.cached && op.kind != OpKind::kScan) return true;
    }
  }
  return false;
}

// Where what becomes of a record between the look at its slot and the look at it matters.
constexpr std::string_view kFollowedGroups[] = {
    "absent",   "death", "elsewhere",  "expire_reader", "freeze",  "pair",  "reinsert",
    "relocate", "reuse", "reuse_torn", "split",         "swapped", "twins", "unknown_moved"};

// These once more for fabrics that read records along with their buckets.
void AddFollowed(std::vector<Scenario>& all) {
  const size_t count = all.size();
  for (size_t i = 0; i < count; ++i) {
    if (std::ranges::find(kFollowedGroups, all[i].group) == std::end(kFollowedGroups)) continue;
    if (all[i].references || !SearchesCold(all[i])) continue;
    if (all[i].long_only && all[i].group != "reuse") continue;
    Scenario s = all[i];
    s.follows = true;
    s.long_only = false;
    s.group = "followed_" + s.group;
    s.name = "followed_" + s.name;
    all.push_back(std::move(s));
  }
}

}  // namespace

std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> all;
  AddPairs(all);
  AddTriples(all);
  AddAbsorption(all);
  AddRelocation(all);
  AddFreezing(all);
  AddExpiry(all);
  AddReuse(all);
  AddUnknown(all);
  AddDeath(all);
  AddLostSlot(all);
  AddElsewhere(all);
  AddScans(all);
  AddRoom(all);
  AddSplits(all);
  AddSweeps(all);
  AddSequences(all);
  AddFollowed(all);
  for (Scenario& s : all) s.Prepare();
  return all;
}

}  // namespace dunlin::explorer
