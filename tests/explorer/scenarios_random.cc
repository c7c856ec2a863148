#include "common/base/random.h"
#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {

// Sequences nobody thought of, for long runs. The same ones each time.
void AddSequences(std::vector<Scenario>& out) {
  constexpr int kCount = 300;
  Random random(20);
  for (int i = 0; i < kCount; ++i) {
    Scenario s = BaseWithKey("sequence", std::to_string(i));
    s.long_only = true;
    s.index_may_fill = true;
    if (random.Below(2) == 0) s.initial.push_back({.key = 1, .bucket = 1, .slot = 0});
    const bool three = random.Below(3) == 0;
    for (int c = 0; c < (three ? 3 : 2); ++c) {
      ClientPlan plan;
      for (uint64_t n = random.Below(three ? 2 : 3) + 1; n != 0; --n) {
        const Variant& v = kVariants[random.Below(std::size(kVariants))];
        Op op = OpOf(v);
        op.key = random.Below(4) == 0 ? 1 : random.Below(6) == 0 ? 2 : 0;
        op.expected = random.Below(2) == 0 ? op.key + 1 : 0;
        plan.ops.push_back(op);
      }
      plan.may_lose = random.Below(4) == 0;
      plan.may_die = random.Below(4) == 0;
      s.clients.push_back(plan);
    }
    s.losses = random.Below(3) == 0;
    s.deaths = random.Below(3) == 0;
    s.relocations = random.Below(3) == 0;
    out.push_back(s);
  }
}

}  // namespace dunlin::explorer
