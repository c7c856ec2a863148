#include "common/protocol/in_place.h"

#include <gtest/gtest.h>

#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

constexpr uint64_t kHash = HashOf(5, 1, 2);

class InPlaceTest : public ::testing::Test {
 protected:
  bool Known(const Location& hint) {
    return FindKnownInPlace(store_.geometry, store_.At(0), hint, key_, store_.clock, &found_);
  }
  bool Cold() {
    return FindColdInPlace(store_.geometry, store_.At(0), store_.PlacementOf(key_), key_,
                           store_.clock, &found_);
  }
  bool InSlot(uint64_t slot_address) {
    return FindSlotInPlace(store_.geometry, store_.At(0), slot_address, key_, store_.clock,
                           &found_);
  }
  bool Still() { return StillInPlace(store_.geometry, found_, store_.env.now, store_.clock); }
  bool PutKnown(const Location& hint, const Block& block, uint64_t expiry = 0) {
    return PutKnownInPlace(store_.geometry, store_.At(0), hint, key_, block,
                           {reinterpret_cast<const std::byte*>("mine"), 4}, expiry, &linked_);
  }
  std::string Value() const {
    return {reinterpret_cast<const char*>(found_.value()), found_.view.header.value_bytes()};
  }

  Store store_;
  Key key_ = Store::MakeKey("key", kHash);
  Key twin_ = Store::MakeKey("twin", kHash);
  InPlace found_;
  Location linked_;
};

TEST_F(InPlaceTest, FindsWhatIsCurrent) {
  Location at = store_.Place(key_, "value", {.expiry = 5000});
  ASSERT_TRUE(Known(at));
  EXPECT_EQ(Value(), "value");
  EXPECT_EQ(found_.found.word, at.word);
  EXPECT_EQ(found_.found.version, at.version);
  EXPECT_EQ(found_.found.expiry, 5000u);
  found_ = {};
  ASSERT_TRUE(Cold());
  EXPECT_EQ(Value(), "value");
  EXPECT_EQ(found_.found.slot_address, at.slot_address);
}

TEST_F(InPlaceTest, FindsAKeyBehindItsTwinsInTheSecondBucket) {
  for (int i = 0; i < 3; ++i) store_.Place(twin_, "twin's");
  store_.Place(twin_, "twin's", {.bucket = 1});
  store_.Place(key_, "value", {.bucket = 1});
  ASSERT_TRUE(Cold());
  EXPECT_EQ(Value(), "value");
}

TEST_F(InPlaceTest, LeavesAStaleLocationToTheMachine) {
  Location at = store_.Place(key_, "old");
  store_.Replace(at, key_, "new");
  EXPECT_FALSE(Known(at));
  store_.SetWord(at.slot_address, 0);
  EXPECT_FALSE(Known(at));
  at.slot_address = store_.geometry.region_bytes;
  EXPECT_FALSE(Known(at));
}

TEST_F(InPlaceTest, FindsWhateverRecordOfTheKeyASlotHas) {
  const Location at = store_.Place(key_, "old");
  const Location now = store_.Replace(at, key_, "new");
  ASSERT_TRUE(InSlot(at.slot_address));
  EXPECT_EQ(Value(), "new");
  EXPECT_EQ(found_.found.word, now.word);
  EXPECT_EQ(found_.found.version, now.version);
  store_.SetWord(at.slot_address, 0);
  EXPECT_FALSE(InSlot(at.slot_address));
  EXPECT_FALSE(InSlot(store_.Place(twin_, "twin's").slot_address));
  EXPECT_FALSE(InSlot(store_.geometry.region_bytes));
}

TEST_F(InPlaceTest, ReadsAFrozenRecord) {
  Location at = store_.Place(key_, "value");
  store_.SetWord(at.slot_address, at.word.Frozen().raw());
  EXPECT_TRUE(Known(at));
  EXPECT_TRUE(Cold());
}

TEST_F(InPlaceTest, LeavesAnExpiredRecordToTheMachine) {
  Location at = store_.Place(key_, "value", {.expiry = store_.clock});
  EXPECT_FALSE(Known(at));
  EXPECT_FALSE(Cold());
}

TEST_F(InPlaceTest, LeavesRunsAndDamageToTheMachine) {
  Location run = store_.Place(key_, std::string(100'000, 'x'));
  EXPECT_FALSE(Known(run));
  EXPECT_FALSE(Cold());
  store_.SetWord(run.slot_address, SlotWord::Make(uint64_t{1} << 36, 1, 5, 1).raw());
  EXPECT_FALSE(Cold());
  Location at = store_.Replace(run, key_, "value");
  uint64_t header = store_.geometry.RecordAddress(at.word);
  store_.SetWord(header, store_.WordAt(header) + 1);
  EXPECT_FALSE(Known(at));
  EXPECT_FALSE(Cold());
}

TEST_F(InPlaceTest, IsNoLongerInPlaceAfterHalfTheGracePeriodOrAReuse) {
  Location at = store_.Place(key_, "value");
  ASSERT_TRUE(Known(at));
  store_.clock += 49;
  EXPECT_TRUE(Still());
  store_.clock += 1;
  EXPECT_FALSE(Still());
  store_.clock -= 50;
  uint64_t header = store_.geometry.RecordAddress(at.word);
  store_.SetWord(header, store_.WordAt(header) + 1);
  EXPECT_FALSE(Still());
}

TEST_F(InPlaceTest, PutsOverAKnownRecord) {
  Location at = store_.Place(key_, "old");
  Block block = store_.Take(RecordBytes(3, 4, true));
  ASSERT_TRUE(PutKnown(at, block, 5000));
  EXPECT_EQ(linked_.slot_address, at.slot_address);
  EXPECT_EQ(linked_.version, block.version);
  ASSERT_TRUE(Known(linked_));
  EXPECT_EQ(Value(), "mine");
  EXPECT_EQ(found_.found.expiry, 5000u);
  EXPECT_TRUE(found_.view.header.unconditional());
}

TEST_F(InPlaceTest, PutsNothingOverWhatIsNotKnownOrNotToBeChanged) {
  Location at = store_.Place(key_, "old");
  Location now = store_.Replace(at, key_, "new");
  Block block = store_.Take(RecordBytes(3, 4, false));
  EXPECT_FALSE(PutKnown(at, block));
  store_.SetWord(now.slot_address, now.word.Frozen().raw());
  EXPECT_FALSE(PutKnown(now, block));
  now.word = now.word.Frozen();
  EXPECT_FALSE(PutKnown(now, block));
  EXPECT_EQ(store_.WordAt(now.slot_address), now.word.raw());
}

}  // namespace
}  // namespace dunlin::testing
