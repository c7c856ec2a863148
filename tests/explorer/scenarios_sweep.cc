#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {
namespace {

// One client changes a key and may die at any point, with what it unlinked not returned yet; the
// other looks on.
void AddSweepsOfTheDead(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (const Variant& other : {kVariants[0], kVariants[3], kVariants[15]}) {
      Scenario s = BaseWithKey("sweep_dead", std::string(v.name) + "+" + other.name);
      s.sweeps = 1;
      s.deaths = 1;
      s.clients = {{.ops = {OpOf(v)}, .may_die = true}, {.ops = {OpOf(other)}}};
      out.push_back(s);
      s.name = "sweep_dead_longer" + s.name.substr(s.group.size());
      s.long_only = true;
      s.ticks = 2;
      out.push_back(s);
    }
  }
}

// Two clients that take their time, while a sweep comes by. Blocks are reused meanwhile.
void AddSweepsOfTheSlow(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    Scenario s = BaseWithKey("sweep_slow", v.name);
    s.sweeps = 1;
    s.ticks = 2;
    s.clients = {{.ops = {OpOf(v)}}};
    out.push_back(s);
    s.name = "sweep_slow/" + std::string(v.name) + "+put*";
    s.clients.push_back({.ops = {{.kind = OpKind::kPut, .cached = true}}});
    s.long_only = true;
    out.push_back(s);
    s = BaseWithKey("sweep_reuse", v.name);
    s.sweeps = 1;
    s.ticks = 2;
    s.reuse = true;
    s.reused_blocks = 1;
    s.block_class = 1;
    s.blocks = 4;
    s.long_only = !v.cached;
    s.clients = {{.ops = {OpOf(v), {.kind = OpKind::kPut, .cached = true, .needs_reuse = true}}}};
    out.push_back(s);
  }
}

// Beside a relocation, whose target is in nobody's slot for a while; and beside splits, which may
// come in the midst of either walk.
void AddSweepsBeside(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    Scenario s = BaseWithKey("sweep_relocate", v.name);
    s.sweeps = 1;
    s.ticks = 2;
    s.relocations = 1;
    s.clients = {{.ops = {OpOf(v)}}};
    out.push_back(s);
    for (bool longer : {false, true}) {
      s = SplitBase(longer ? "sweep_split_longer" : "sweep_split", v.name, true);
      s.sweeps = 1;
      s.ticks = longer ? 2 : 0;
      s.long_only = longer;
      s.clients = {{.ops = {OpOf(v)}}};
      out.push_back(s);
      s.name += "-dead";
      s.deaths = 1;
      s.clients[0].may_die = true;
      out.push_back(s);
    }
    // "c" lies in the second bucket.
    s = SplitBase("sweep_split_twice", v.name, false);
    s.initial = {{.key = 2, .bucket = 1, .slot = 0}};
    s.splits = 2;
    s.sweeps = 1;
    s.ticks = 2;
    s.clients = {{.ops = {OpOf(v)}, .after_splits = 2}};
    s.clients[0].ops[0].key = 2;
    s.long_only = v.kind != OpKind::kGet && v.kind != OpKind::kPut;
    out.push_back(s);
  }
}

}  // namespace

void AddSweeps(std::vector<Scenario>& out) {
  AddSweepsOfTheDead(out);
  AddSweepsOfTheSlow(out);
  AddSweepsBeside(out);
}

}  // namespace dunlin::explorer
