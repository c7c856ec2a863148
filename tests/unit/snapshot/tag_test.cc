#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/layout/checksum.h"
#include "common/layout/geometry.h"
#include "common/snapshot/snapshot_tag.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin {
namespace {

std::string_view View(const SnapshotKey& key) { return {key.data(), key.size()}; }

TEST(SnapshotTag, SortsAsAWalkThroughTheIndex) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t a = random.Next();
    const uint64_t b = random.Next();
    for (const uint32_t depth : {1u, 10u, 22u}) {
      if (PrefixOf(a, depth) < PrefixOf(b, depth)) {
        EXPECT_LT(SnapshotTag(a), SnapshotTag(b));
      }
    }
    EXPECT_EQ(SnapshotTag(a) >> 10 & 1023, FingerprintOf(a));
    EXPECT_EQ(SnapshotTag(a) & 1023, a & 1023);
    EXPECT_LT(SnapshotTag(a), kSnapshotTagEnd);
  }
}

TEST(SnapshotTag, KeysSortAsTagsDoAndComeBack) {
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t a = random.Below(kSnapshotTagEnd);
    const uint64_t b = a ^ uint64_t { 1 } << random.Below(kSnapshotTagBits);
    const SnapshotKey key = EncodeSnapshotKey(a);
    EXPECT_EQ(DecodeSnapshotKey(View(key)), a);
    EXPECT_EQ(a < b, View(key) < View(EncodeSnapshotKey(b)));
  }
}

TEST(SnapshotTag, RefusesWhatIsNoKey) {
  EXPECT_EQ(DecodeSnapshotKey(""), std::nullopt);
  EXPECT_EQ(DecodeSnapshotKey("12345"), std::nullopt);
  EXPECT_EQ(DecodeSnapshotKey("1234567"), std::nullopt);
  for (int bit = 0; bit < kSnapshotKeyShift; ++bit) {
    SnapshotKey key = EncodeSnapshotKey(77);
    key.back() = static_cast<char>(key.back() | 1 << bit);
    EXPECT_EQ(DecodeSnapshotKey(View(key)), std::nullopt);
  }
}

TEST(SnapshotTag, TwinsAreTwins) {
  const auto [first, second] = testing::TwinKeys();
  EXPECT_NE(first, second);
  EXPECT_EQ(SnapshotTag(HashKey(AsBytes(first), testing::kTestSeed)),
            SnapshotTag(HashKey(AsBytes(second), testing::kTestSeed)));
}

}  // namespace
}  // namespace dunlin
