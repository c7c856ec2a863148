#include "client/session/location_cache.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

namespace dunlin {
namespace {

constexpr size_t kHugePage = 2u << 20;

}  // namespace

LocationCache::LocationCache(uint64_t bytes, uint64_t max_age) : max_age_(max_age) {
  const uint64_t sets = bytes / sizeof(Set);
  if (sets == 0) return;
  set_count_ = std::bit_floor(sets);
  size_t size = set_count_ * sizeof(Set);
  size_t alignment = size >= kHugePage ? kHugePage : 4096;
  size = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  // Without memory for it the cache is off: every operation is cold, none is wrong.
  if (memory == nullptr) {
    set_count_ = 0;
    return;
  }
  // A hint: with small pages most look-ups cost a TLB miss more.
  if (alignment == kHugePage) (void)madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 0, size);
  storage_.reset(static_cast<Set*>(memory));
  sets_ = storage_.get();
  set_mask_ = set_count_ - 1;
}

LocationCache::~LocationCache() { Clear(); }

void LocationCache::Free::operator()(Set* sets) const { std::free(sets); }

void LocationCache::Release(Set& set, uint32_t way) {
  CachedKey& cached = set.keys[way];
  if (cached.bytes > kInlineKey) delete[] KeyOf(cached);
  cached.bytes = 0;
  set.found[way].word = 0;
}

void LocationCache::Write(Set& set, uint32_t way, const Location& location, uint64_t stamp) {
  Found& found = set.found[way];
  found.slot_address = (found.slot_address & ~kAddressMask) | location.slot_address;
  found.word = location.word.Thawed().raw();
  found.version = location.version;
  found.validated = stamp;
  set.keys[way].expiry = location.expiry;
}

void LocationCache::Remember(const Key& key, const Location& location, uint64_t stamp) {
  if (sets_ == nullptr) return;
  Set& set = SetOf(key.hash);
  uint32_t way = WayOf(set, key);
  if (!location.known()) {
    if (way != kWays) Release(set, way);
    return;
  }
  if (way == kWays) {
    if (key.bytes > kMaxCachedKey) return;
    const Found* found = set.found;
    way = found[0].word != 0 && (found[1].word == 0 || found[1].validated <= found[0].validated);
    Release(set, way);
    CachedKey& cached = set.keys[way];
    cached.bytes = key.bytes;
    if (key.bytes <= kInlineKey) {
      std::memcpy(cached.key, key.data, key.bytes);
    } else {
      std::byte* copy = new std::byte[key.bytes];
      std::memcpy(copy, key.data, key.bytes);
      std::memcpy(cached.key, &copy, sizeof copy);
    }
    set.found[way].slot_address = key.hash & ~kAddressMask;
  }
  Write(set, way, location, stamp);
}

void LocationCache::Forget(const Key& key) { Remember(key, {}, 0); }

void LocationCache::Clear() {
  for (uint64_t i = 0; i < set_count_; ++i) {
    for (uint32_t way = 0; way < kWays; ++way) Release(sets_[i], way);
  }
}

}  // namespace dunlin
