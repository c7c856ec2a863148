#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin {

// A chain: an ordered list of one-sided verbs, posted in one go on one session: one round trip.
// What it promises is in fabric/fabric.h. It is plain data: the protocol fills it, a fabric carries
// it out and writes the results back into it.

enum class Verb : uint8_t {
  kRead,         // `length` bytes at `remote` -> `sink`, or the scratch at `local`
  kWrite,        // scratch at `local`, `length` bytes, then `tail` -> `remote`
  kReadWord,     // the aligned word at `remote` -> result
  kCompareSwap,  // word at `remote`: if == compare then = swap; the value found -> result
  kFetchAdd,     // word at `remote`: += swap; the value found -> result
};

// Verbs on one aligned word.
constexpr bool IsWordVerb(Verb verb) { return verb >= Verb::kReadWord; }

struct Work {
  Verb verb = Verb::kRead;
  // kRead only: the fabric may hand out `data` pointing into the region instead of copying; what
  // lies there is then read later than the chain's other words.
  bool by_reference = false;
  uint32_t length = 0;
  uint32_t local = 0;
  uint32_t tail_length = 0;  // in all, length + tail_length bytes at `remote` are touched
  uint64_t remote = 0;
  uint64_t compare = 0;
  uint64_t swap = 0;
  const std::byte* tail = nullptr;
  std::byte* sink = nullptr;
  // Results.
  uint64_t result = 0;
  const std::byte* data = nullptr;
};

enum class ChainOutcome : uint8_t {
  kPending,
  kDone,         // every verb was executed
  kNotExecuted,  // none was: refused before it left
  kUnknown,      // executed wholly, in part, or not at all
};

inline constexpr uint32_t kMaxWorks = 8;
inline constexpr uint32_t kMostFollowed = 4;
inline constexpr uint32_t kMostSwung = 2;
inline constexpr uint32_t kMostSwingKeyBytes = 512;

// Part of the wish below, of a chain with the CAS of a bucket's lock right in front of the READs of
// that bucket and another: to link a record along. If one of the records read along is of this key,
// its slot is to be swung; if the lock was got and the key is in none, a free slot; then the lock
// is to be given back. Where that can't be decided, or must not be done, it is left to whoever
// asked. The CASes are appended to the chain, done: those that it would have asked for next.
struct Swing {
  bool wanted = false;
  bool replaces = false;  // a record of the key; else only a free slot is swung
  uint32_t key_bytes = 0;
  const std::byte* key = nullptr;
  uint64_t word = 0;  // what the slot is to become
};

// A wish at the end of a chain whose last two works READ the two buckets of a key: to READ along,
// behind them, the records of up to kMostFollowed slots that bear the fingerprint. A channel whose
// chains are carried out where the region lies may grant it: it appends these READs, done, to the
// chain (fabric/follow.h). Any other takes the wish back (`wanted`) when the chain is posted, at
// the cost of a round trip more.
struct Follow {
  bool wanted = false;
  uint32_t fingerprint = 0;
  uint32_t whole_bytes = 0;  // blocks up to this are read whole,
  uint32_t head_bytes = 0;   // longer ones so far
  uint32_t local = 0;        // in the scratch: the first record,
  uint32_t stride = 0;       // and from one to the next
  uint64_t heap_start = 0;
  uint64_t heap_bytes = 0;
  Swing swing;
};

struct Chain {
  Work work[kMaxWorks + kMostSwung];
  uint32_t count = 0;
  uint8_t writes = 0;   // of these, kWrite
  uint8_t atomics = 0;  // of these, kCompareSwap and kFetchAdd
  // So many READs at the end were done along (Follow), and behind them so many CASes (Swing).
  uint8_t followed = 0;
  uint8_t swung = 0;
  ChainOutcome outcome = ChainOutcome::kPending;
  Follow follow;
  // Base of what `local` is relative to. It belongs to the fabric from Post until the chain is
  // handed back by Poll, as do `sink` and `tail`.
  std::byte* scratch = nullptr;
  // For whoever posts.
  uint64_t cookie = 0;

  void Clear() {
    count = 0;
    writes = 0;
    atomics = 0;
    followed = 0;
    swung = 0;
    outcome = ChainOutcome::kPending;
    follow.wanted = false;
    follow.swing.wanted = false;
  }
  static constexpr uint32_t kWordVerbBytes = 8;

  // What was asked for, without what was done along.
  uint32_t asked() const { return count - followed - swung; }
  // REQUIRES: count < kMaxWorks, as for all that follow.
  Work& Add(Verb verb, uint64_t remote) {
    Work& w = work[count++];
    w.verb = verb;
    w.length = kWordVerbBytes;
    w.tail_length = 0;
    w.remote = remote;
    return w;
  }
  Work& Read(uint64_t remote, uint32_t length, uint32_t local) {
    Work& w = Add(Verb::kRead, remote);
    w.length = length;
    w.local = local;
    w.by_reference = false;
    w.sink = nullptr;
    return w;
  }
  Work& ReadByReference(uint64_t remote, uint32_t length, uint32_t local) {
    Work& w = Read(remote, length, local);
    w.by_reference = true;
    return w;
  }
  Work& ReadWord(uint64_t remote) { return Add(Verb::kReadWord, remote); }
  Work& Write(uint64_t remote, uint32_t local, uint32_t length, const std::byte* tail,
              uint32_t tail_length) {
    Work& w = Add(Verb::kWrite, remote);
    ++writes;
    w.length = length;
    w.local = local;
    w.tail = tail;
    w.tail_length = tail_length;
    return w;
  }
  Work& CompareSwap(uint64_t remote, uint64_t compare, uint64_t swap) {
    Work& w = Add(Verb::kCompareSwap, remote);
    ++atomics;
    w.compare = compare;
    w.swap = swap;
    return w;
  }
  Work& FetchAdd(uint64_t remote, uint64_t delta) {
    Work& w = Add(Verb::kFetchAdd, remote);
    ++atomics;
    w.swap = delta;
    return w;
  }
  bool Swapped(uint32_t i) const { return work[i].result == work[i].compare; }
};

}  // namespace dunlin
