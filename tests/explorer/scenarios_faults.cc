#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {
namespace {

// What the others do around an operation that goes wrong.
struct Around {
  const char* name;
  std::vector<Op> second;
  std::vector<Op> third;
};

std::vector<Around> Surroundings() {
  const Op get{.kind = OpKind::kGet};
  const Op put{.kind = OpKind::kPut};
  const Op known_put{.kind = OpKind::kPut, .cached = true};
  const Op remove{.kind = OpKind::kRemove};
  return {
      {"get", {get, get}, {}},
      {"put", {known_put, get}, {}},
      {"put_put", {known_put}, {known_put, get}},
      {"remove", {remove, get}, {}},
      {"remove_put", {remove, put, get}, {}},
      {"remove_if_absent", {remove, {.kind = OpKind::kIfAbsent}, get}, {}},
      {"add", {{.kind = OpKind::kAdd, .cached = true}, get}, {}},
      {"cas", {{.kind = OpKind::kCas, .cached = true}, get}, {}},
      {"put_add", {known_put}, {{.kind = OpKind::kAdd}}},
  };
}

}  // namespace

// A session breaks at any point of any chain; it is fenced, and the outcome resolved by a new one.
// The call goes on if it was not done.
void AddUnknown(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (const Around& around : Surroundings()) {
      for (bool present : {true, false}) {
        if (!present && v.cached) continue;
        Scenario s =
            Base("unknown", std::string(v.name) + "+" + around.name + (present ? "" : "-absent"));
        if (present) s.initial = {{.key = 0, .bucket = 0, .slot = 0}};
        s.losses = 1;
        s.clients = {{.ops = {OpOf(v)}, .may_lose = true}, {.ops = around.second}};
        if (!around.third.empty()) s.clients.push_back({.ops = around.third});
        s.long_only = !around.third.empty() && !present;
        out.push_back(s);
      }
    }
    // Both may lose theirs, and one of them twice.
    for (const Variant& other : kVariants) {
      Scenario s = BaseWithKey("unknown_both", std::string(v.name) + "+" + other.name);
      s.losses = 2;
      s.clients = {{.ops = {OpOf(v)}, .may_lose = true},
                   {.ops = {OpOf(other), {.kind = OpKind::kGet}}, .may_lose = true}};
      out.push_back(s);
    }
    Scenario s = BaseWithKey("unknown_moved", v.name);
    s.losses = 1;
    s.relocations = 1;
    s.clients = {{.ops = {OpOf(v)}, .may_lose = true}, {.ops = {{.kind = OpKind::kPut}}}};
    out.push_back(s);
  }
}

// A client dies before any verb. Its lock is released by the server, or never.
void AddDeath(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (const Around& around : Surroundings()) {
      for (bool present : {true, false}) {
        if (!present && v.cached) continue;
        Scenario s =
            Base("death", std::string(v.name) + "+" + around.name + (present ? "" : "-absent"));
        if (present) s.initial = {{.key = 0, .bucket = 0, .slot = 0}};
        s.deaths = 1;
        s.clients = {{.ops = {OpOf(v)}, .may_die = true}, {.ops = around.second}};
        if (!around.third.empty()) s.clients.push_back({.ops = around.third});
        s.long_only = !around.third.empty() && !present;
        out.push_back(s);
        if (v.cached || present) continue;
        s.name = "death_unrecovered/" + s.name.substr(6);
        s.group = "death_unrecovered";
        s.recovery = false;
        out.push_back(s);
      }
    }
  }
}

}  // namespace dunlin::explorer
