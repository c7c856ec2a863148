#include "client/session/location_cache.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

namespace dunlin {
namespace {

constexpr size_t kHugePage = 2u << 20;

}  // namespace

LocationCache::LocationCache(uint64_t bytes, uint64_t max_age) : max_age_(max_age) {
  uint64_t entries = bytes / sizeof(Entry);
  if (entries < 2) return;
  entry_count_ = std::bit_floor(entries);
  size_t size = entry_count_ * sizeof(Entry);
  size_t alignment = size >= kHugePage ? kHugePage : 4096;
  size = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  // Without memory for it the cache is off: every operation is cold, none is wrong.
  if (memory == nullptr) return;
  // A hint: with small pages most look-ups cost a TLB miss more.
  if (alignment == kHugePage) (void)madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 0, size);
  storage_.reset(static_cast<Entry*>(memory));
  entries_ = storage_.get();
  set_mask_ = entry_count_ / 2 - 1;
}

LocationCache::~LocationCache() { Clear(); }

void LocationCache::Free::operator()(Entry* entries) const { std::free(entries); }

void LocationCache::Release(Entry& e) {
  if (e.word != 0 && (e.slot_address >> kKeyBytesShift) > kInlineKey) {
    delete[] KeyOf(e, static_cast<uint32_t>(e.slot_address >> kKeyBytesShift));
  }
  e.word = 0;
  e.hash = 0;
}

LocationCache::Entry* LocationCache::FindEntry(const Key& key) const {
  Entry* set = Set(key.hash);
  for (uint32_t way = 0; way < 2; ++way) {
    if (set[way].word != 0 && set[way].hash == key.hash && SameKey(set[way], key)) return &set[way];
  }
  return nullptr;
}

void LocationCache::Remember(const Key& key, const Location& location, uint64_t stamp) {
  if (entries_ == nullptr) return;
  Entry* e = FindEntry(key);
  if (e == nullptr) {
    if (key.bytes > kMaxCachedKey || !location.known()) return;
    Entry* set = Set(key.hash);
    bool second = set[0].word != 0 && (set[1].word == 0 || set[1].validated <= set[0].validated);
    e = &set[second ? 1 : 0];
    Release(*e);
    if (key.bytes <= kInlineKey) {
      std::memcpy(e->key, key.data, key.bytes);
    } else {
      std::byte* copy = new std::byte[key.bytes];
      std::memcpy(copy, key.data, key.bytes);
      std::memcpy(e->key, &copy, sizeof copy);
    }
    e->hash = key.hash;
  } else if (!location.known()) {
    Release(*e);
    return;
  }
  e->slot_address = location.slot_address | uint64_t{key.bytes} << kKeyBytesShift;
  e->word = location.word.Thawed().raw();
  e->version = location.version;
  e->expiry = location.expiry;
  e->validated = stamp;
}

void LocationCache::Forget(const Key& key) { Remember(key, {}, 0); }

void LocationCache::Clear() {
  for (uint64_t i = 0; i < entry_count_; ++i) Release(entries_[i]);
}

}  // namespace dunlin
