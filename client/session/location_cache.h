#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "common/base/prefetch.h"
#include "common/protocol/machine.h"

namespace dunlin {

// Where keys were found: a bounded, two-way set-associative table, one cache line an entry, and a
// set is two neighbouring lines. Keys of up to 16 bytes lie in the entry, longer ones (up to
// kMaxCachedKey) beside it; the whole key is compared, since a known put reads nothing that could
// contradict it.
//
// A location is good for `max_age` ticks after it was last seen to be current: within that time no
// (offset, generation) recurs, so a CAS of a stale word fails (design: reuse without ABA).
//
// Belongs to one session. Not thread safe.
class LocationCache {
 public:
  static constexpr uint32_t kMaxCachedKey = 256;

  // `bytes` is rounded down to a power of two entries; under two entries the cache is off.
  LocationCache(uint64_t bytes, uint64_t max_age);
  ~LocationCache();
  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;

  bool enabled() const { return entries_ != nullptr; }

  void Prefetch(uint64_t hash) const {
    if (entries_ == nullptr) return;
    const Entry* set = Set(hash);
    PrefetchLine(set);
    PrefetchLine(set + 1);
  }

  // The key's location if there is one that is young enough at tick `now`. `*aging`: it should be
  // remembered again when it is seen to be current; until then that would only dirty a line.
  Location Find(const Key& key, uint64_t now, bool* aging) const {
    if (entries_ == nullptr) return {};
    const Entry* set = Set(key.hash);
    for (uint32_t way = 0; way < 2; ++way) {
      const Entry& e = set[way];
      if (e.hash != key.hash || e.word == 0 || !SameKey(e, key)) continue;
      if (now - e.validated >= max_age_) return {};
      *aging = now - e.validated >= max_age_ / 4;
      return {e.slot_address & kAddressMask, SlotWord(e.word), e.version, e.expiry};
    }
    return {};
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
  static constexpr uint32_t kInlineKey = 16;
  static constexpr int kKeyBytesShift = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kKeyBytesShift) - 1;

  struct alignas(64) Entry {
    uint64_t hash;
    uint64_t slot_address;  // and, from bit 48, the bytes of the key
    uint64_t word;          // 0: free
    uint64_t version;
    uint64_t expiry;
    uint64_t validated;
    std::byte key[kInlineKey];  // or, of a longer key, the pointer to its bytes
  };
  static_assert(sizeof(Entry) == 64);

  Entry* Set(uint64_t hash) const { return entries_ + (hash & set_mask_) * 2; }

  static const std::byte* KeyOf(const Entry& e, uint32_t bytes) {
    if (bytes <= kInlineKey) return e.key;
    const std::byte* outside;
    std::memcpy(&outside, e.key, sizeof outside);
    return outside;
  }
  static bool SameKey(const Entry& e, const Key& key) {
    uint32_t bytes = static_cast<uint32_t>(e.slot_address >> kKeyBytesShift);
    return bytes == key.bytes && SameBytes(KeyOf(e, bytes), key.data, bytes);
  }
  static void Release(Entry& e);
  Entry* FindEntry(const Key& key) const;

  struct Free {
    void operator()(Entry* entries) const;
  };
  std::unique_ptr<Entry[], Free> storage_;
  Entry* entries_ = nullptr;
  uint64_t entry_count_ = 0;
  uint64_t set_mask_ = 0;
  uint64_t max_age_;
};

}  // namespace dunlin
