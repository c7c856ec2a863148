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
  for (Scenario& s : all) s.Prepare();
  return all;
}

}  // namespace dunlin::explorer
