#include "tests/explorer/scenario_lists.h"

namespace dunlin::explorer {

// A put that loses its CAS to each kind of winner, and a third client that looks on.
void AddAbsorption(std::vector<Scenario>& out) {
  struct Winner {
    const char* name;
    std::vector<Op> ops;
  };
  const Winner winners[] = {
      {"put", {{.kind = OpKind::kPut, .cached = true}}},
      {"put_twice",
       {{.kind = OpKind::kPut, .cached = true}, {.kind = OpKind::kPut, .cached = true}}},
      {"cas", {{.kind = OpKind::kCas, .cached = true}}},
      {"add", {{.kind = OpKind::kAdd, .cached = true}}},
      {"touch", {{.kind = OpKind::kTouch, .cached = true}}},
      {"replace", {{.kind = OpKind::kReplace, .cached = true}}},
      {"remove_if_absent",
       {{.kind = OpKind::kRemove, .cached = true}, {.kind = OpKind::kIfAbsent}}},
      {"remove_put", {{.kind = OpKind::kRemove, .cached = true}, {.kind = OpKind::kPut}}},
      {"relocation", {}},
      {"put_and_relocation", {{.kind = OpKind::kPut, .cached = true}}},
  };
  const Winner others[] = {
      {"get_get", {{.kind = OpKind::kGet}, {.kind = OpKind::kGet, .cached = true}}},
      {"remove_get", {{.kind = OpKind::kRemove, .cached = true}, {.kind = OpKind::kGet}}},
      {"cas_get", {{.kind = OpKind::kCas}, {.kind = OpKind::kGet}}},
      {"add_add", {{.kind = OpKind::kAdd, .cached = true}, {.kind = OpKind::kAdd, .cached = true}}},
      {"if_absent", {{.kind = OpKind::kIfAbsent}}},
      {"put_get", {{.kind = OpKind::kPut, .cached = true}, {.kind = OpKind::kGet, .cached = true}}},
  };
  for (bool cached : {false, true}) {
    for (const Winner& winner : winners) {
      for (const Winner& other : others) {
        Scenario s = BaseWithKey(
            "absorb", std::string(cached ? "put*" : "put") + "+" + winner.name + "+" + other.name);
        s.clients = {{.ops = {{.kind = OpKind::kPut, .cached = cached}, {.kind = OpKind::kGet}}},
                     {.ops = winner.ops},
                     {.ops = other.ops}};
        if (s.name.find("relocation") != std::string::npos) s.relocations = 1;
        s.long_only = winner.ops.size() + s.relocations > 1 && other.ops.size() > 1 && !cached;
        out.push_back(s);
      }
    }
  }
}

// The server moves the key's record to another block meanwhile.
void AddRelocation(std::vector<Scenario>& out) {
  for (size_t a = 0; a < std::size(kVariants); ++a) {
    for (size_t b = a; b < std::size(kVariants); ++b) {
      Scenario s =
          BaseWithKey("relocate", std::string(kVariants[a].name) + "+" + kVariants[b].name);
      s.relocations = 2;
      s.clients = {{.ops = {OpOf(kVariants[a])}}, {.ops = {OpOf(kVariants[b])}}};
      out.push_back(s);
    }
  }
}

// The server freezes the slots for a while, as a split does. Records may expire meanwhile.
void AddFreezing(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      if (&b < &a) continue;
      Scenario s = BaseWithKey("freeze", std::string(a.name) + "+" + b.name);
      s.freezes = 1;
      s.long_only = !a.cached && !b.cached;
      s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}}};
      out.push_back(s);
    }
    Scenario s = BaseWithKey("freeze_expired", a.name);
    s.freezes = 1;
    s.initial[0].expiry = kStartTick;
    s.clients = {{.ops = {OpOf(a)}}, {.ops = {{.kind = OpKind::kGet}}}};
    out.push_back(s);
  }
}

// A record that expires at the next tick; the clocks of the two clients differ by one.
void AddExpiry(std::vector<Scenario>& out) {
  for (const Variant& a : kVariants) {
    for (const Variant& b : kVariants) {
      for (bool long_only : {false, true}) {
        Scenario s =
            BaseWithKey(long_only ? "expire_long" : "expire", std::string(a.name) + "+" + b.name);
        s.long_only = long_only;
        s.initial[0].expiry = kStartTick + 1;
        s.ticks = 2;
        s.grace = 8;
        s.clients = {{.ops = {OpOf(a)}}, {.ops = {OpOf(b)}, .clock_lag = 1}};
        if (long_only) s.clients[1].ops.push_back({.kind = OpKind::kGet});
        out.push_back(s);
      }
    }
  }
  // Records put with a time to live, by one client or the other.
  for (const Variant& a : kVariants) {
    for (OpKind put : {OpKind::kPut, OpKind::kIfAbsent, OpKind::kTouch, OpKind::kCas}) {
      Scenario s = BaseWithKey("expire_put", std::string(a.name) + "+" + std::string(NameOf(put)));
      s.initial[0].expiry = kStartTick + 1;
      s.ticks = 2;
      s.grace = 8;
      s.clients = {{.ops = {OpOf(a), {.kind = OpKind::kGet, .cached = true}}, .clock_lag = 1},
                   {.ops = {{.kind = put, .cached = true, .expiry = kStartTick + 2}}}};
      out.push_back(s);
    }
  }
  // A session that can't write has the server expire what it finds expired.
  for (const Variant& b : kVariants) {
    Scenario s = BaseWithKey("expire_reader", std::string("get+") + b.name);
    s.initial[0].expiry = kStartTick + 1;
    s.ticks = 2;
    s.grace = 8;
    s.clients = {{.ops = {{.kind = OpKind::kGet, .cached = true}, {.kind = OpKind::kGet}},
                  .can_write = false},
                 {.ops = {OpOf(b)}, .clock_lag = 1}};
    out.push_back(s);
  }
}

namespace {

// Blocks are given out again as soon as the grace period permits, while somebody reads slowly. The
// block of key "a" goes to a new record of "a" itself, or of its twin.
Scenario Reuse(std::string group, const Variant& v, bool twin) {
  Scenario s = BaseWithKey(std::move(group), std::string(v.name) + (twin ? "+twin" : "+same"));
  s.reuse = true;
  s.block_class = 1;
  s.ticks = 2;
  s.blocks = 5;
  const Op again{.kind = OpKind::kPut,
                 .key = static_cast<uint8_t>(twin ? 1 : 0),
                 .cached = true,
                 .needs_reuse = true};
  s.clients = {{.ops = {OpOf(v)}}, {.ops = {{.kind = OpKind::kPut, .cached = true}, again}}};
  return s;
}

}  // namespace

void AddReuse(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (bool twin : {false, true}) {
      const bool locks = v.kind == OpKind::kPut || v.kind == OpKind::kIfAbsent;
      Scenario s = Reuse("reuse", v, twin);
      s.long_only = twin && locks;
      out.push_back(s);
      s = Reuse("reuse_by_reference", v, twin);
      s.references = true;
      s.long_only = !v.cached && v.kind != OpKind::kGet;
      out.push_back(s);
      s = Reuse("reuse_longer", v, twin);
      s.long_only = true;
      s.slots = 2;
      s.ticks = 3;
      out.push_back(s);
    }
  }
  // The twin's long value gives way to a new record of "a": the head of the one and the key of the
  // other must not make a record.
  for (OpKind kind : {OpKind::kAdd, OpKind::kGet, OpKind::kTouch}) {
    Scenario s = Base("reuse_torn", std::string(NameOf(kind)));
    s.initial = {{.key = 1, .bucket = 0, .slot = 0, .value = kLongValue},
                 {.key = 0, .bucket = 1, .slot = 0}};
    s.reuse = true;
    s.reused_blocks = 1;
    s.block_class = ClassFor(RecordBytes(1, 24, false));
    s.ticks = 2;
    s.blocks = 5;
    s.clients = {{.ops = {{.kind = kind}}},
                 {.ops = {{.kind = OpKind::kRemove, .key = 1, .cached = true},
                          {.kind = OpKind::kPut, .cached = true, .needs_reuse = true}}}};
    out.push_back(s);
  }
}

// A put of "a" loses its slot to "c", which the swapped buckets let it take without a's lock; "a"
// is put by another client meanwhile, and "c" goes away again.
void AddLostSlot(std::vector<Scenario>& out) {
  for (OpKind last : {OpKind::kPut, OpKind::kIfAbsent}) {
    Scenario s = Base("old_reads", std::string(NameOf(last)));
    s.long_only = true;
    s.slots = 2;
    s.initial = {{.key = 1, .bucket = 1, .slot = 0}};
    s.clients = {{.ops = {{.kind = OpKind::kPut}}},
                 {.ops = {{.kind = OpKind::kPut, .key = 2},
                          {.kind = OpKind::kRemove, .key = 2, .cached = true}}},
                 {.ops = {{.kind = last}}}};
    out.push_back(s);
  }
}

// Two inserts of one key that choose different slots: its twin leaves the first bucket in between,
// which was the fuller one before. With `headers_move` the lock words that are READ change too.
void AddElsewhere(std::vector<Scenario>& out) {
  for (bool headers : {false, true}) {
    for (OpKind a : {OpKind::kPut, OpKind::kIfAbsent, OpKind::kGet, OpKind::kRemove}) {
      for (OpKind b : {OpKind::kPut, OpKind::kIfAbsent}) {
        Scenario s = Base(headers ? "elsewhere_headers" : "elsewhere",
                          std::string(NameOf(a)) + "+" + std::string(NameOf(b)));
        s.headers_move = headers;
        s.initial = {{.key = 1, .bucket = 0, .slot = 0}};
        s.clients = {{.ops = {{.kind = a}}},
                     {.ops = {{.kind = OpKind::kRemove, .key = 1, .cached = true}, {.kind = b}}}};
        out.push_back(s);
      }
    }
  }
}

// A scan of both buckets while others work.
void AddScans(std::vector<Scenario>& out) {
  for (const Variant& v : kVariants) {
    for (bool reuse : {false, true}) {
      bool quick = v.kind == OpKind::kPut || v.kind == OpKind::kCas || v.kind == OpKind::kRemove;
      if (reuse && !(v.cached && quick)) continue;
      Scenario s = BaseWithKey(reuse ? "scan_reuse" : "scan", v.name);
      s.initial.push_back({.key = 1, .bucket = 1, .slot = 0});
      s.slots = reuse ? 1 : 2;
      s.block_class = reuse ? 1 : 2;
      s.reuse = reuse;
      s.ticks = reuse ? 2 : 0;
      s.relocations = reuse ? 0 : 1;
      s.index_may_fill = true;
      s.clients = {{.ops = {{.kind = OpKind::kScan}}},
                   {.ops = {OpOf(v), {.kind = OpKind::kRemove, .key = 1, .cached = true}}}};
      if (reuse) {
        s.clients[1].ops[1] = {.kind = OpKind::kPut, .key = 1, .cached = true, .needs_reuse = true};
      }
      out.push_back(s);
    }
  }
}

// Who gets which slot: swapped buckets, three keys and room for two.
void AddRoom(std::vector<Scenario>& out) {
  for (size_t a = 0; a < std::size(kVariants); a += 2) {
    for (size_t b = 0; b < std::size(kVariants); b += 2) {
      Scenario s = Base("swapped", std::string(kVariants[a].name) + "+" + kVariants[b].name);
      s.initial = {{.key = 1, .bucket = 0, .slot = 0}};
      s.index_may_fill = true;
      s.clients = {{.ops = {OpOf(kVariants[a]), {.kind = OpKind::kGet, .cached = true}}},
                   {.ops = {OpOf(kVariants[b]), {.kind = OpKind::kGet, .key = 2}}}};
      s.clients[1].ops[0].key = 2;
      out.push_back(s);
    }
  }
  for (OpKind last : {OpKind::kPut, OpKind::kIfAbsent, OpKind::kGet, OpKind::kRemove}) {
    Scenario s = Base("full", std::string(NameOf(last)));
    s.long_only = last == OpKind::kPut || last == OpKind::kIfAbsent;
    s.index_may_fill = true;
    s.clients = {{.ops = {{.kind = OpKind::kPut, .key = 0}, {.kind = OpKind::kRemove, .key = 0}}},
                 {.ops = {{.kind = OpKind::kPut, .key = 1}}},
                 {.ops = {{.kind = last, .key = 2}}}};
    out.push_back(s);
  }
}

}  // namespace dunlin::explorer
