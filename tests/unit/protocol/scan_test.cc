#include "common/protocol/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

using ::testing::ElementsAre;

class ScanTest : public ::testing::Test {
 protected:
  Key NewKey(const std::string& text, uint64_t hash) {
    return Store::MakeKey(texts_.emplace_back(text), hash);
  }

  // One bucket: key -> value.
  std::map<std::string, std::string> ReadBucket(ScanCursor at, ScanCursor* next,
                                                Result want = Result::kOk) {
    ScanBucket scan(at);
    std::map<std::string, std::string> found;
    store_.on_deliver = [&] {
      for (uint32_t i = 0; i < scan.entries(); ++i) {
        const ScanBucket::Entry& e = scan.entry(i);
        std::string key(reinterpret_cast<const char*>(e.key), e.key_bytes);
        found[key] = e.value == nullptr
                         ? "(" + std::to_string(e.value_bytes) + ")"
                         : std::string(reinterpret_cast<const char*>(e.value), e.value_bytes);
      }
    };
    store_.Run(scan);
    EXPECT_EQ(scan.result(), want);
    *next = scan.next();
    return found;
  }
  std::map<std::string, std::string> ReadAll() {
    std::map<std::string, std::string> all;
    ScanCursor at(0);
    for (int buckets = 0; !at.end() && buckets < 100; ++buckets) all.merge(ReadBucket(at, &at));
    return all;
  }

  Store store_;
  std::deque<std::string> texts_;
};

TEST_F(ScanTest, AnEmptyBucketTakesOneRoundTrip) {
  ScanCursor next(0);
  EXPECT_TRUE(ReadBucket(ScanCursor(0), &next).empty());
  EXPECT_THAT(store_.chains, ElementsAre("READ b0"));
  EXPECT_EQ(next.bucket(), 1u);
  EXPECT_FALSE(next.end());
}

TEST_F(ScanTest, WhatMayBePassedOver) {
  Geometry g;
  g.slots_per_bucket = 2;
  g.bucket_bytes = 24;
  g.bucket_mask = 3;
  const uint64_t entries[2] = {DirectoryEntry::Make(1280, 1).raw(),
                               DirectoryEntry::Make(2560, 1).raw()};
  const DirectoryView directory{entries, 1, 1};
  const uint32_t half = 1u << (kMaxDirectoryDepth - 1);
  const ScanPlace place = PlaceScan(g, directory, ScanCursor::Make(half, 1, 1));
  EXPECT_EQ(place.address, 2560u + 24);
  EXPECT_EQ(place.buckets, 3u);
  EXPECT_EQ(place.After(2).bucket(), 3u);
  EXPECT_TRUE(place.After(3).end());
  const ScanCursor second = PlaceScan(g, directory, ScanCursor(0)).After(4);
  EXPECT_EQ(second.position(), half);
  EXPECT_EQ(second.bucket(), 0u);

  uint64_t bucket[3] = {place.identity.raw(), 0, 0};
  const auto* bytes = reinterpret_cast<const std::byte*>(bucket);
  EXPECT_TRUE(EmptyBucket(g, bytes, place.identity));
  bucket[0] = BucketHeader::Free(0, 1).raw();
  EXPECT_FALSE(EmptyBucket(g, bytes, place.identity)) << "another subtable's";
  bucket[0] = place.identity.raw();
  bucket[2] = SlotWord::Moved().raw();
  EXPECT_FALSE(EmptyBucket(g, bytes, place.identity)) << "moved";
}

TEST_F(ScanTest, EightRecordsAChain) {
  std::map<std::string, std::string> want;
  for (int i = 0; i < 15; ++i) {
    std::string name = "key" + std::to_string(i);
    store_.Place(NewKey(name, HashOf(i, 0, 1)), "v" + std::to_string(i));
    want[name] = "v" + std::to_string(i);
  }
  ScanCursor next(0);
  EXPECT_EQ(ReadBucket(ScanCursor(0), &next), want);
  std::string eight = "READ record";
  for (int i = 1; i < 8; ++i) eight += ", READ record";
  std::string seven = eight.substr(0, eight.size() - std::string(", READ record").size());
  EXPECT_THAT(store_.chains, ElementsAre("READ b0", eight, seven));
}

TEST_F(ScanTest, AllBucketsThenTheEnd) {
  for (uint32_t b = 0; b < 4; ++b) {
    store_.Place(NewKey("key" + std::to_string(b), HashOf(1, b, (b + 1) % 4)), "value");
  }
  EXPECT_EQ(ReadAll().size(), 4u);
  EXPECT_EQ(store_.chains.size(), 8u);
}

TEST_F(ScanTest, ExpiredRecordsAreLeftOutAndRunsNamedOnly) {
  store_.Place(NewKey("gone", HashOf(1, 0, 1)), "value", {.expiry = 900});
  store_.Place(NewKey("stays", HashOf(1, 0, 1)), "value", {.expiry = 5000});
  store_.Place(NewKey("big", HashOf(1, 0, 1)), std::string(100'000, 'x'));
  ScanCursor next(0);
  auto found = ReadBucket(ScanCursor(0), &next);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found["stays"], "value");
  EXPECT_EQ(found["big"], "(100000)");
}

TEST_F(ScanTest, LargeRecordsAreReadInSeveralChains) {
  for (int i = 0; i < 5; ++i) {
    store_.Place(NewKey("key" + std::to_string(i), HashOf(i, 0, 1)), std::string(32'000, 'x'));
  }
  ScanCursor next(0);
  EXPECT_EQ(ReadBucket(ScanCursor(0), &next).size(), 5u);
  EXPECT_LE(store_.chains.size(), 3u);
}

// Its header may be one subtable's, its slots those of the next that got the memory.
TEST_F(ScanTest, ABucketReadTooSlowlyIsNotEmpty) {
  store_.before_chain = [&](size_t n) {
    if (n == 0) store_.clock += 50;
  };
  ScanCursor next(0);
  EXPECT_TRUE(ReadBucket(ScanCursor(0), &next).empty());
  EXPECT_THAT(store_.chains, ElementsAre("READ b0", "READ b0"));
}

TEST_F(ScanTest, WhatWasReadTooLateIsReadAgain) {
  Key key = NewKey("key", HashOf(1, 0, 1));
  store_.Place(key, "value");
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.clock += 50;
  };
  ScanCursor next(0);
  EXPECT_EQ(ReadBucket(ScanCursor(0), &next).size(), 1u);
  EXPECT_THAT(store_.chains, ElementsAre("READ b0", "READ record", "READ b0", "READ record"));
}

TEST_F(ScanTest, AMovedSlotAsksForTheDirectory) {
  uint64_t slot = store_.geometry.SlotAddress(4096, 3);
  store_.SetWord(slot, SlotWord::Moved().raw());
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(slot, 0);
  };
  ScanCursor next(0);
  EXPECT_TRUE(ReadBucket(ScanCursor(0), &next).empty());
  EXPECT_EQ(store_.refreshes, 1);
}

TEST_F(ScanTest, DamageIsDataLoss) {
  Location at = store_.Place(NewKey("key", HashOf(1, 0, 1)), "value");
  uint64_t address = store_.geometry.RecordAddress(at.word);
  store_.SetWord(address, store_.WordAt(address) + 1);
  ScanCursor next(0);
  ReadBucket(ScanCursor(0), &next, Result::kDataLoss);
}

TEST(ScanCursorTest, KeepsWhatItIsMadeOf) {
  ScanCursor c = ScanCursor::Make((1u << 22) - 1, 22, 65535);
  EXPECT_EQ(c.position(), (1u << 22) - 1);
  EXPECT_EQ(c.depth(), 22u);
  EXPECT_EQ(c.bucket(), 65535u);
  EXPECT_TRUE(c.valid());
  EXPECT_FALSE(c.end());
  EXPECT_TRUE(ScanCursor(ScanCursor::kEnd).valid());
  EXPECT_FALSE(ScanCursor(uint64_t{1} << 50).valid());
}

}  // namespace
}  // namespace dunlin::testing
