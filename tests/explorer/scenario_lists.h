#pragma once

#include <string>
#include <vector>

#include "tests/explorer/scenario.h"

namespace dunlin::explorer {

// An operation as the lists combine it. `*` in a name: it knows the key's location.
struct Variant {
  const char* name;
  OpKind kind;
  bool cached;
};

inline constexpr Variant kVariants[] = {
    {"get", OpKind::kGet, false},
    {"get*", OpKind::kGet, true},
    {"put", OpKind::kPut, false},
    {"put*", OpKind::kPut, true},
    {"if_absent", OpKind::kIfAbsent, false},
    {"if_absent*", OpKind::kIfAbsent, true},
    {"replace", OpKind::kReplace, false},
    {"replace*", OpKind::kReplace, true},
    {"cas", OpKind::kCas, false},
    {"cas*", OpKind::kCas, true},
    {"add", OpKind::kAdd, false},
    {"add*", OpKind::kAdd, true},
    {"touch", OpKind::kTouch, false},
    {"touch*", OpKind::kTouch, true},
    {"remove", OpKind::kRemove, false},
    {"remove*", OpKind::kRemove, true},
};

// A scenario to start from: one slot a bucket; keys "a" and "b" of one fingerprint and the same
// buckets, "c" of the same fingerprint with first and second bucket swapped.
Scenario Base(std::string group, std::string name);
// The same with key "a" in its first bucket.
Scenario BaseWithKey(std::string group, std::string name);

// A scenario with a split to start from: the keys are those of Base, with the hashes that they
// really have, "a" in its first bucket if it is present. The first split parts "b" from the others,
// a second one "a" from "c".
Scenario SplitBase(std::string group, std::string name, bool present);

inline Op OpOf(const Variant& v) { return {.kind = v.kind, .cached = v.cached}; }

void AddPairs(std::vector<Scenario>& out);
void AddTriples(std::vector<Scenario>& out);
void AddAbsorption(std::vector<Scenario>& out);
void AddRelocation(std::vector<Scenario>& out);
void AddFreezing(std::vector<Scenario>& out);
void AddExpiry(std::vector<Scenario>& out);
void AddReuse(std::vector<Scenario>& out);
void AddUnknown(std::vector<Scenario>& out);
void AddDeath(std::vector<Scenario>& out);
void AddLostSlot(std::vector<Scenario>& out);
void AddElsewhere(std::vector<Scenario>& out);
void AddScans(std::vector<Scenario>& out);
void AddSequences(std::vector<Scenario>& out);
void AddSplits(std::vector<Scenario>& out);
void AddSweeps(std::vector<Scenario>& out);
void AddRoom(std::vector<Scenario>& out);

}  // namespace dunlin::explorer
