#include "client/session/location_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dunlin {
namespace {

constexpr uint64_t kMaxAge = 1000;

Key KeyOf(const std::string& text, uint64_t hash) {
  return {reinterpret_cast<const std::byte*>(text.data()), static_cast<uint32_t>(text.size()),
          hash};
}

Location At(uint64_t slot_address, uint32_t fingerprint = 1) {
  return {slot_address, SlotWord::Make(slot_address * 2, 3, fingerprint, 5), slot_address + 7,
          slot_address + 9};
}

bool Same(const Location& a, const Location& b) {
  return a.slot_address == b.slot_address && a.word == b.word && a.version == b.version &&
         a.expiry == b.expiry;
}

TEST(LocationCache, KeepsKeysOfAnyLengthUpToItsLimit) {
  LocationCache cache(1u << 16, kMaxAge);
  for (uint32_t bytes : {1u, 7u, 8u, 15u, 16u, 17u, 32u, 33u, LocationCache::kMaxCachedKey}) {
    const std::string text(bytes, 'k');
    const Key key = KeyOf(text, uint64_t{bytes} << 50 | bytes);
    bool aging = true;
    EXPECT_FALSE(cache.Find(key, 1, &aging).known());
    cache.Remember(key, At(bytes * 8), 1);
    EXPECT_TRUE(Same(cache.Find(key, 1, &aging), At(bytes * 8))) << bytes;
    EXPECT_FALSE(aging);
    cache.Remember(key, At(bytes * 16), 1);
    EXPECT_TRUE(Same(cache.Find(key, 1, &aging), At(bytes * 16))) << bytes;
    cache.Forget(key);
    EXPECT_FALSE(cache.Find(key, 1, &aging).known());
  }
  const std::string text(LocationCache::kMaxCachedKey + 1, 'k');
  bool aging = false;
  cache.Remember(KeyOf(text, 1), At(8), 1);
  EXPECT_FALSE(cache.Find(KeyOf(text, 1), 1, &aging).known());
}

// A put believes a location without a look at the record, so that equal hashes must not do.
TEST(LocationCache, ComparesTheWholeKey) {
  LocationCache cache(1u << 12, kMaxAge);
  for (const std::string text : {"key number 00001", "a key that lies outside of its entry 1"}) {
    const uint64_t hash = 0xABCD'0000'0000'0000 | text.size();  // a set for each pair
    std::string other = text;
    other.back() = '2';
    bool aging = false;
    cache.Remember(KeyOf(text, hash), At(64), 1);
    EXPECT_FALSE(cache.Find(KeyOf(other, hash), 1, &aging).known());
    EXPECT_FALSE(cache.Find(KeyOf(text.substr(1), hash), 1, &aging).known());
    cache.Remember(KeyOf(other, hash), At(128), 1);
    EXPECT_TRUE(Same(cache.Find(KeyOf(text, hash), 1, &aging), At(64)));
    EXPECT_TRUE(Same(cache.Find(KeyOf(other, hash), 1, &aging), At(128)));
  }
}

TEST(LocationCache, DropsWhatWasNotSeenForMaxAge) {
  LocationCache cache(1u << 12, kMaxAge);
  const std::string text = "key";
  const Key key = KeyOf(text, 9);
  bool aging = false;
  cache.Remember(key, At(64), 100);
  EXPECT_TRUE(cache.Find(key, 100 + kMaxAge / 4 - 1, &aging).known());
  EXPECT_FALSE(aging);
  EXPECT_TRUE(cache.Find(key, 100 + kMaxAge / 4, &aging).known());
  EXPECT_TRUE(aging);
  EXPECT_TRUE(cache.Find(key, 100 + kMaxAge - 1, &aging).known());
  EXPECT_FALSE(cache.Find(key, 100 + kMaxAge, &aging).known());
  // A clock that went back, as another server's may be, makes nothing young.
  EXPECT_FALSE(cache.Find(key, 99, &aging).known());
  cache.Remember(key, At(128), 100 + kMaxAge);
  EXPECT_TRUE(Same(cache.Find(key, 100 + kMaxAge, &aging), At(128)));
  cache.SetMaxAge(kMaxAge * 2);
  EXPECT_FALSE(cache.Find(key, 100 + kMaxAge, &aging).known());
}

TEST(LocationCache, ReplacesTheOlderOfASet) {
  LocationCache cache(1, kMaxAge);
  EXPECT_FALSE(cache.enabled());
  LocationCache one_set(128, kMaxAge);
  ASSERT_TRUE(one_set.enabled());
  const std::vector<std::string> texts = {"first", "second, of more than sixteen bytes", "third"};
  bool aging = false;
  for (size_t i = 0; i < texts.size(); ++i) one_set.Remember(KeyOf(texts[i], i << 50), At(8), i);
  EXPECT_FALSE(one_set.Find(KeyOf(texts[0], 0), 3, &aging).known());
  EXPECT_TRUE(one_set.Find(KeyOf(texts[1], uint64_t{1} << 50), 3, &aging).known());
  EXPECT_TRUE(one_set.Find(KeyOf(texts[2], uint64_t{2} << 50), 3, &aging).known());
  one_set.Clear();
  EXPECT_FALSE(one_set.Find(KeyOf(texts[1], uint64_t{1} << 50), 3, &aging).known());
}

}  // namespace
}  // namespace dunlin
