#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "common/base/prefetch.h"
#include "common/protocol/machine.h"

namespace dunlin {

// Where keys were found, for a session that can't look itself (slot_hints.h): a bounded, two-way
// set-associative table. A set is two neighbouring lines. Keys of up to 16 bytes lie in the table,
// longer ones (up to kMaxCachedKey) beside it. Find compares the whole key, since a known put reads
// nothing that could contradict it.
//
// A location is good for `max_age` ticks after it was last seen to be current: within that time no
// (offset, generation) recurs, so a CAS of a stale word fails (design: reuse without ABA).
//
// Belongs to one session. Not thread safe.
class LocationCache {
 public:
  static constexpr uint32_t kMaxCachedKey = 256;

  // `bytes` is rounded down to a power of two sets; under one set the cache is off.
  LocationCache(uint64_t bytes, uint64_t max_age);
  ~LocationCache();
  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;

  bool enabled() const { return sets_ != nullptr; }

  void Prefetch(uint64_t hash) const {
    if (sets_ == nullptr) return;
    PrefetchLine(SetOf(hash).found);
    PrefetchLine(SetOf(hash).keys);
  }

  // The key's location if there is one that is young enough at tick `now`. `*aging`: it should be
  // remembered again when it is seen to be current; until then that would only dirty a line.
  Location Find(const Key& key, uint64_t now, bool* aging) const {
    if (sets_ == nullptr) return {};
    const Set& set = SetOf(key.hash);
    const uint32_t way = WayOf(set, key);
    if (way == kWays || !Young(set.found[way].validated, now, aging)) return {};
    return LocationOf(set.found[way], set.keys[way].expiry);
  }

  // Whether a location last seen to be current at tick `validated` may still be used.
  bool Young(uint64_t validated, uint64_t now, bool* aging) const {
    const uint64_t age = now - validated;
    *aging = age >= max_age_ / 4;
    return age < max_age_;
  }

  // The location was current at tick `stamp`.
  void Remember(const Key& key, const Location& location, uint64_t stamp);
  void Forget(const Key& key);
  void Clear();
  // For another server. Clears it.
  void SetMaxAge(uint64_t max_age) {
    Clear();
    max_age_ = max_age;
  }

 private:
  static constexpr uint32_t kWays = 2;
  static constexpr uint32_t kInlineKey = 16;
  static constexpr int kTagShift = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kTagShift) - 1;

  struct Found {
    uint64_t slot_address;  // and, from bit 48, the hash's bits from there: the tag
    uint64_t word;          // 0: free
    uint64_t version;
    uint64_t validated;
  };
  struct CachedKey {
    uint64_t expiry;
    uint32_t bytes;
    std::byte key[kInlineKey];  // or, of a longer key, the pointer to its bytes
  };
  struct alignas(128) Set {
    alignas(64) Found found[kWays];
    alignas(64) CachedKey keys[kWays];
  };
  static_assert(sizeof(Set) == 128);

  Set& SetOf(uint64_t hash) const { return sets_[hash & set_mask_]; }

  static bool MayBe(const Found& found, uint64_t hash) {
    return (found.slot_address ^ hash) >> kTagShift == 0 && found.word != 0;
  }
  static const std::byte* KeyOf(const CachedKey& cached) {
    if (cached.bytes <= kInlineKey) return cached.key;
    const std::byte* outside;
    std::memcpy(&outside, cached.key, sizeof outside);
    return outside;
  }
  // kWays if the key is in neither.
  static uint32_t WayOf(const Set& set, const Key& key) {
    uint32_t way = 0;
    for (; way < kWays; ++way) {
      const CachedKey& cached = set.keys[way];
      if (MayBe(set.found[way], key.hash) && cached.bytes == key.bytes &&
          SameBytes(KeyOf(cached), key.data, key.bytes)) {
        break;
      }
    }
    return way;
  }
  static Location LocationOf(const Found& found, uint64_t expiry) {
    return {found.slot_address & kAddressMask, SlotWord(found.word), found.version, expiry};
  }
  static void Write(Set& set, uint32_t way, const Location& location, uint64_t stamp);
  static void Release(Set& set, uint32_t way);

  struct Free {
    void operator()(Set* sets) const;
  };
  std::unique_ptr<Set[], Free> storage_;
  Set* sets_ = nullptr;
  uint64_t set_count_ = 0;
  uint64_t set_mask_ = 0;
  uint64_t max_age_;
};

}  // namespace dunlin
