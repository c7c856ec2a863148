#include "common/base/check.h"
#include "common/layout/checksum.h"
#include "tests/explorer/machine_box.h"
#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {
namespace {

// A split finds a key's hash from its bytes, so here it must be the real one. Finds a key that
// begins with `name`, of that fingerprint, whose first bucket is `first` and whose hash begins with
// the two bits `prefix`.
KeyPlan FindKey(char name, uint32_t fingerprint, uint32_t first, uint32_t prefix) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (uint32_t n = 0; n < 1'000'000; ++n) {
    KeyPlan key{.bytes = {name}};
    for (uint32_t rest = n; rest != 0; rest /= kDigits.size()) {
      key.bytes += kDigits[rest % kDigits.size()];
    }
    key.hash = HashKey(BytesOf(key.bytes), 0);
    if (FingerprintOf(key.hash) == fingerprint && (key.hash & 1) == first &&
        PrefixOf(key.hash, 2) == prefix) {
      return key;
    }
  }
  DUNLIN_UNREACHABLE();
}

// Keys of one fingerprint. "a" and "b" have the same buckets, "c" has them swapped. The first split
// parts "b" from the others, the second "a" from "c".
const std::vector<KeyPlan>& SplitKeys() {
  static const std::vector<KeyPlan> keys = {FindKey('a', 5, 0, 0), FindKey('b', 5, 0, 2),
                                            FindKey('c', 5, 1, 1)};
  return keys;
}

}  // namespace

Scenario SplitBase(std::string group, std::string name, bool present) {
  Scenario s = Base(std::move(group), std::move(name));
  s.keys = SplitKeys();
  s.splits = 1;
  s.max_attempts = 100;
  if (present) s.initial = {{.key = 0, .bucket = 0, .slot = 0}};
  return s;
}

namespace {

std::string Join(const Variant& a, const Variant& b) { return std::string(a.name) + "+" + b.name; }

// Keys "a" or "b" are put, or not, while the subtable is split.
void AddSplitPairs(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      if (&b < &a) continue;
      for (bool present : {true, false}) {
        if (!present && (a.cached || b.cached)) continue;
        Scenario s = SplitBase("split", Join(a, b) + (present ? "" : "-absent"), present);
        s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
        out.push_back(s);
      }
    }
  }
}

// One client knows the newest directory when it begins, so that the two may have different ones.
void AddSplitKnown(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      for (bool present : {true, false}) {
        if (!present && (a.cached || b.cached)) continue;
        Scenario s = SplitBase("split_known", Join(a, b) + (present ? "" : "-absent"), present);
        s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}, .fresh_directory = true}};
        s.long_only = a.cached && b.cached;
        out.push_back(s);
      }
    }
  }
}

// There is no slot for "c" until the split has parted "b" from it.
void AddSplitFull(std::vector<Scenario>& out) {
  for (OpKind kind : {OpKind::kPut, OpKind::kIfAbsent}) {
    for (const Variant& v : kVariants) {
      Scenario s = SplitBase("split_full", std::string(NameOf(kind)) + "+" + v.name, true);
      s.initial.push_back({.key = 1, .bucket = 1, .slot = 0});
      s.index_grows = true;
      s.clients = {{.ops = {{.kind = kind, .key = 2}}}, {.ops = {OpOf(v)}}};
      s.long_only = v.cached;
      out.push_back(s);
    }
  }
}

// A scan meets what is there throughout, however the index grows.
void AddSplitScans(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    Scenario s = SplitBase("split_scan", v.name, true);
    s.initial.push_back({.key = 1, .bucket = 1, .slot = 0});
    s.index_may_fill = true;
    s.clients = {{.ops = {{.kind = OpKind::kScan}}}, {.ops = {OpOf(v)}}};
    out.push_back(s);
  }
}

// A client dies, with a lock of the subtable or without; or it loses its session and has the fate
// of its write found out, in the old subtable or the new one.
void AddSplitFaults(std::vector<Scenario>& out) {
  const Variant others[] = {{"get", OpKind::kGet, false},
                            {"put", OpKind::kPut, false},
                            {"put*", OpKind::kPut, true},
                            {"remove", OpKind::kRemove, false}};
  for (const Variant& v : kVariants) {
    for (const Variant& other : others) {
      for (bool present : {true, false}) {
        if (!present && (v.cached || other.cached)) continue;
        const std::string name = Join(v, other) + (present ? "" : "-absent");
        Scenario s = SplitBase("split_death", name, present);
        s.deaths = 1;
        s.clients = {{.ops = {OpOf(v)}, .may_die = true}, {.ops = {OpOf(other)}}};
        out.push_back(s);
        s = SplitBase("split_unknown", name, present);
        s.long_only = other.cached || other.kind == OpKind::kRemove;
        s.losses = 1;
        s.clients = {{.ops = {OpOf(v)}, .may_lose = true}, {.ops = {OpOf(other)}}};
        out.push_back(s);
      }
    }
  }
}

// Beside the other things that a server does with a record.
void AddSplitBeside(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      if (&b < &a) continue;
      const bool plain = !a.cached && (a.kind == OpKind::kGet || a.kind == OpKind::kPut);
      Scenario s = SplitBase("split_relocate", Join(a, b), true);
      s.relocations = 1;
      s.long_only = !plain;
      s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
      out.push_back(s);
      s = SplitBase("split_expired", Join(a, b), true);
      s.initial[0].expiry = kStartTick;
      s.long_only = !plain;
      s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
      out.push_back(s);
      s = SplitBase("split_cancelled", Join(a, b), true);
      s.cancelled_splits = 1;
      s.long_only = !plain;
      s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
      out.push_back(s);
    }
  }
}

void AddSplitTriples(std::vector<Scenario>& out) {
  for (size_t a = 0; a < std::size(kVariants); ++a) {
    for (size_t b = a; b < std::size(kVariants); ++b) {
      for (size_t c = b; c < std::size(kVariants); ++c) {
        Scenario s = SplitBase("split_triple",
                               Join(kVariants[a], kVariants[b]) + "+" + kVariants[c].name, true);
        s.long_only = !(a == 0 && b == 0 && c == 2);  // get, get and put
        for (size_t v : {a, b, c}) s.clients.push_back({.ops = {OpOf(kVariants[v])}});
        out.push_back(s);
      }
    }
  }
}

// The subtable is split, and after the grace period one of its halves, into its old memory. One
// client may sleep through all that; the other comes afterwards.
void AddSplitsTwice(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (const Variant& after : {kVariants[0], kVariants[2], kVariants[14]}) {
      for (uint8_t key : {0, 1, 2}) {
        for (bool present : {true, false}) {
          if (!present && v.cached) continue;
          Scenario s = SplitBase(
              "split_twice", Join(v, after) + "-" + "abc"[key] + (present ? "" : "-absent"), false);
          s.splits = 2;
          s.ticks = 2;
          if (present) {
            s.initial = {{.key = key, .bucket = static_cast<uint8_t>(key == 2), .slot = 0}};
          }
          // A client with the first directory looks for "b" where "a" is by now.
          s.long_only = after.kind == OpKind::kRemove || (key != 1 && !present) ||
                        v.kind == OpKind::kTouch || v.kind == OpKind::kAdd;
          s.clients = {{.ops = {OpOf(v)}},
                       {.ops = {OpOf(after)}, .fresh_directory = true, .after_splits = 2}};
          s.clients[0].ops[0].key = s.clients[1].ops[0].key = key;
          out.push_back(s);
        }
      }
    }
  }
}

// A scan that begins before the first split, or goes on behind the second.
void AddScansOfTwice(std::vector<Scenario>& out) {
  for (uint8_t key : {0, 1, 2}) {
    for (const Variant& v : kVariants) {
      if (v.cached) continue;
      Scenario s = SplitBase("split_twice_scan", std::string(v.name) + "-" + "abc"[key], false);
      s.splits = 2;
      s.ticks = 2;
      s.initial = {{.key = key, .bucket = static_cast<uint8_t>(key == 2), .slot = 0}};
      s.index_may_fill = true;
      s.long_only = v.kind != OpKind::kGet;
      s.clients = {{.ops = {{.kind = OpKind::kScan}}},
                   {.ops = {OpOf(v)}, .fresh_directory = true, .after_splits = 2}};
      s.clients[1].ops[0].key = key;
      out.push_back(s);
    }
  }
}

}  // namespace

void AddSplits(std::vector<Scenario>& out) {
  AddSplitPairs(out);
  AddSplitKnown(out);
  AddSplitFull(out);
  AddSplitScans(out);
  AddSplitFaults(out);
  AddSplitBeside(out);
  AddSplitTriples(out);
  AddSplitsTwice(out);
  AddScansOfTwice(out);
}

}  // namespace dunlin::explorer
