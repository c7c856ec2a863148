#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {
namespace {

std::string Join(const Variant& a, const Variant& b) { return std::string(a.name) + "+" + b.name; }

// Both on one key that is there; each is followed by a get by what it has learnt.
void AddSameKey(std::vector<Scenario>& out, bool references) {
  for (size_t a = 0; a < std::size(kVariants); ++a) {
    for (size_t b = a; b < std::size(kVariants); ++b) {
      Scenario s =
          BaseWithKey(references ? "pair_by_reference" : "pair", Join(kVariants[a], kVariants[b]));
      s.references = references;
      s.clients = {{.ops = {OpOf(kVariants[a]), {.kind = OpKind::kGet, .cached = true}}},
                   {.ops = {OpOf(kVariants[b]), {.kind = OpKind::kGet, .cached = true}}}};
      out.push_back(s);
    }
  }
}

// The key is absent at first; two operations of one session, or of two.
void AddAbsentKey(std::vector<Scenario>& out, bool one_session) {
  for (size_t a = 0; a < std::size(kVariants); a += 2) {
    for (size_t b = a; b < std::size(kVariants); b += 2) {
      Scenario s =
          Base(one_session ? "absent_one_session" : "absent", Join(kVariants[a], kVariants[b]));
      s.one_session = one_session;
      s.slots = 2;
      s.clients = {{.ops = {OpOf(kVariants[a])}}, {.ops = {OpOf(kVariants[b])}}};
      out.push_back(s);
    }
  }
}

// One removes and puts again, the other works on the same key meanwhile: with one slot a bucket the
// new record lands in the other bucket.
void AddReinsert(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (bool twice : {false, true}) {
      Scenario s = Base("reinsert", std::string(v.name) + (twice ? "-twice" : ""));
      s.initial = {{.key = 0, .bucket = 1, .slot = 0}};
      s.clients = {{.ops = {{.kind = OpKind::kRemove, .cached = true}, {.kind = OpKind::kPut}}},
                   {.ops = {OpOf(v), {.kind = OpKind::kGet}}}};
      if (twice) {
        s.clients[0].ops.push_back({.kind = OpKind::kRemove, .cached = true});
        s.clients[0].ops.push_back({.kind = OpKind::kPut});
      }
      out.push_back(s);
    }
  }
}

// The place that the key leaves is taken by its twin, so that the key comes back elsewhere.
void AddMove(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    Scenario s = BaseWithKey("move", v.name);
    s.clients = {{.ops = {{.kind = OpKind::kRemove, .cached = true},
                          {.kind = OpKind::kPut, .key = 1},
                          {.kind = OpKind::kPut}}},
                 {.ops = {OpOf(v), {.kind = OpKind::kGet}}}};
    out.push_back(s);
  }
}

// Two keys of one fingerprint in one bucket; the second key is there or not.
void AddTwins(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      for (bool present : {true, false}) {
        if (!present && b.cached) continue;
        Scenario s = BaseWithKey("twins", Join(a, b) + (present ? "" : "-absent"));
        s.slots = 2;
        if (present) s.initial.push_back({.key = 1, .bucket = 0, .slot = 1});
        s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
        s.clients[1].ops[0].key = 1;
        s.clients[1].ops[0].expected = 2;
        out.push_back(s);
      }
    }
  }
}

}  // namespace

void AddPairs(std::vector<Scenario>& out) {
  AddSameKey(out, false);
  AddSameKey(out, true);
  AddAbsentKey(out, false);
  AddAbsentKey(out, true);
  AddReinsert(out);
  AddMove(out);
  AddTwins(out);
}

// Three clients on one key that is there, or absent.
void AddTriples(std::vector<Scenario>& out) {
  for (size_t a = 0; a < std::size(kVariants); ++a) {
    for (size_t b = a; b < std::size(kVariants); ++b) {
      for (size_t c = b; c < std::size(kVariants); ++c) {
        for (bool present : {true, false}) {
          bool cached = kVariants[a].cached || kVariants[b].cached || kVariants[c].cached;
          if (!present && cached) continue;
          Scenario s = Base("triple", Join(kVariants[a], kVariants[b]) + "+" + kVariants[c].name +
                                          (present ? "" : "-absent"));
          if (present) s.initial = {{.key = 0, .bucket = 0, .slot = 0}};
          for (size_t v : {a, b, c}) s.clients.push_back({.ops = {OpOf(kVariants[v])}});
          out.push_back(s);
        }
      }
    }
  }
}

}  // namespace dunlin::explorer
