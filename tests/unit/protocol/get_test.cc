#include "common/protocol/get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kHash = HashOf(5, 1, 2);
constexpr char kBuckets[] = "READ b1, READ b2";
constexpr char kKnown[] = "READ record, READ slot";

std::string ValueOf(const Get& get) {
  return {reinterpret_cast<const char*>(get.value()), get.value_bytes()};
}

class GetTest : public ::testing::Test {
 protected:
  Get Run(const Location& hint = {}, GetMode mode = GetMode::kCopy) {
    Get get(key_, mode, hint);
    store_.Run(get);
    return get;
  }

  Store store_;
  Key key_ = Store::MakeKey("key", kHash);
  Key twin_ = Store::MakeKey("twin", kHash);
};

TEST_F(GetTest, KnownLocationTakesOneRoundTrip) {
  Location at = store_.Place(key_, "value");
  Get get = Run(at);
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_EQ(ValueOf(get), "value");
  EXPECT_EQ(get.version(), at.version);
  EXPECT_THAT(store_.chains, ElementsAre(kKnown));
  EXPECT_EQ(get.found().slot_address, at.slot_address);
  EXPECT_EQ(get.found().word, at.word);
}

TEST_F(GetTest, ColdTakesTwo) {
  Location at = store_.Place(key_, "value");
  Get get = Run();
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_EQ(ValueOf(get), "value");
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record"));
  EXPECT_EQ(get.found().slot_address, at.slot_address);
  EXPECT_EQ(get.found().version, at.version);
}

TEST_F(GetTest, ColdTakesOneWhereRecordsAreReadAlong) {
  store_.follows = true;
  store_.Place(twin_, "twin's");
  Location at = store_.Place(key_, "value", {.bucket = 1});
  Get get = Run();
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_EQ(ValueOf(get), "value");
  EXPECT_THAT(store_.chains, ElementsAre("READ b1, READ b2, READ record, READ record"));
  EXPECT_EQ(get.found().slot_address, at.slot_address);
  EXPECT_EQ(get.found().version, at.version);
}

TEST_F(GetTest, AMissBesideATwinTakesOneWhereRecordsAreReadAlong) {
  store_.follows = true;
  store_.Place(twin_, "value");
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre("READ b1, READ b2, READ record"));
}

TEST_F(GetTest, MoreTwinsThanAreReadAlongTakeOneMore) {
  store_.follows = true;
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) names.push_back("twin" + std::to_string(i));
  for (const std::string& name : names) store_.Place(Store::MakeKey(name, kHash), name);
  store_.Place(key_, "value", {.bucket = 1});
  EXPECT_EQ(ValueOf(Run()), "value");
  EXPECT_THAT(store_.chains,
              ElementsAre("READ b1, READ b2, READ record, READ record, READ record, READ record",
                          "READ record, READ record"));
}

TEST_F(GetTest, FindsTheKeyInItsSecondBucket) {
  store_.Place(key_, "value", {.bucket = 1});
  EXPECT_EQ(ValueOf(Run()), "value");
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record"));
}

TEST_F(GetTest, AMissTakesOne) {
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets));
}

TEST_F(GetTest, AMissBesideATwinTakesTwo) {
  store_.Place(twin_, "value");
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record"));
}

TEST_F(GetTest, AnEmptyValueIsNoMiss) {
  store_.Place(key_, "");
  Get get = Run();
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_EQ(get.value_bytes(), 0u);
}

TEST_F(GetTest, KnownLocationWithANewRecordTakesOneReadMore) {
  Location old = store_.Place(key_, "old");
  Location now = store_.Replace(old, key_, "new");
  Get get = Run(old);
  EXPECT_EQ(ValueOf(get), "new");
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, "READ record"));
  EXPECT_EQ(get.found().word, now.word);
  EXPECT_EQ(get.found().version, now.version);
}

TEST_F(GetTest, TheNewRecordsExpiryIsFoundToo) {
  Location old = store_.Place(key_, "old");
  Location now = store_.Replace(old, key_, "new", {.expiry = 5000});
  Get get = Run(old);
  EXPECT_EQ(get.expiry(), 5000u);
  EXPECT_EQ(get.found().expiry, now.expiry);
}

TEST_F(GetTest, KnownLocationThatIsEmptyGoesCold) {
  Location old = store_.Place(key_, "old");
  store_.SetWord(old.slot_address, 0);
  store_.Place(key_, "new", {.bucket = 1});
  EXPECT_EQ(ValueOf(Run(old)), "new");
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, kBuckets, "READ record"));
}

TEST_F(GetTest, KnownLocationWithTheTwinGoesCold) {
  Location old = store_.Place(key_, "old");
  store_.Replace(old, twin_, "twin's");
  EXPECT_EQ(Run(old).result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, "READ record", kBuckets, "READ record"));
}

TEST_F(GetTest, AFrozenRecordIsReadable) {
  Location at = store_.Place(key_, "value");
  store_.SetWord(at.slot_address, at.word.Frozen().raw());
  EXPECT_EQ(ValueOf(Run(at)), "value");
  EXPECT_EQ(ValueOf(Run()), "value");
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, kBuckets, "READ record"));
}

TEST_F(GetTest, ManyTwinsAreReadFourInAChain) {
  for (int i = 0; i < 6; ++i) store_.Place(twin_, "twin's");
  store_.Place(key_, "value", {.bucket = 1});
  EXPECT_EQ(ValueOf(Run()), "value");
  EXPECT_THAT(store_.chains,
              ElementsAre(kBuckets, "READ record, READ record, READ record, READ record",
                          "READ record, READ record, READ record"));
}

TEST_F(GetTest, HeadModeReadsNoValue) {
  std::string value(200, 'x');
  Location at = store_.Place(key_, value, {.expiry = 5000});
  Get get = Run(at, GetMode::kHead);
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_EQ(get.value_bytes(), 200u);
  EXPECT_EQ(get.expiry(), 5000u);
  EXPECT_THAT(store_.chains, ElementsAre("READ head, READ slot"));
}

TEST_F(GetTest, ViewLeavesTheValueWhereItLies) {
  store_.env.references = true;
  Location at = store_.Place(key_, "value");
  Get get = Run(at, GetMode::kView);
  EXPECT_EQ(ValueOf(get), "value");
  EXPECT_EQ(get.value(), store_.At(store_.geometry.RecordAddress(at.word)) + 24 + 3);
}

TEST_F(GetTest, ARunIsReadInPiecesOfAMiB) {
  std::string value((2u << 20) + 5, 'x');
  value[1u << 20] = 'y';
  Location at = store_.Place(Store::MakeKey("eightkey", kHash), value);
  key_ = Store::MakeKey("eightkey", kHash);
  Get get = Run(at);
  EXPECT_EQ(get.result(), Result::kOk);
  EXPECT_TRUE(ValueOf(get) == value);
  EXPECT_THAT(store_.chains, ElementsAre("READ head, READ slot", "READ piece, READ slot",
                                         "READ piece, READ slot", "READ piece, READ slot"));
}

TEST_F(GetTest, ARunReadTooSlowlyStartsAgain) {
  std::string value((1u << 20) + 5, 'x');
  key_ = Store::MakeKey("eightkey", kHash);
  Location at = store_.Place(key_, value);
  // While the first piece is read, the key is put anew and half the grace period goes by.
  store_.before_chain = [&](size_t n) {
    if (n != 1) return;
    store_.Replace(at, key_, "short");
    store_.clock += 50;
  };
  EXPECT_EQ(ValueOf(Run(at)), "short");
}

TEST_F(GetTest, AnExpiredRecordIsUnlinkedAndLookedForAgain) {
  Location at = store_.Place(key_, "value", {.expiry = 900});
  EXPECT_EQ(Run(at).result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, "CAS slot old->0", kBuckets));
  ASSERT_EQ(store_.freed.size(), 1u);
  EXPECT_EQ(store_.freed[0].word, at.word);
  EXPECT_EQ(store_.freed[0].version, at.version);
}

TEST_F(GetTest, WhoLosesTheExpiryToAPutSeesThePut) {
  Location at = store_.Place(key_, "value", {.expiry = 900});
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.Replace(at, key_, "new");
  };
  EXPECT_EQ(ValueOf(Run(at)), "new");
  EXPECT_TRUE(store_.freed.empty());
}

TEST_F(GetTest, ARecordExpiresAtItsVeryTick) {
  Location at = store_.Place(key_, "value", {.expiry = 1000});
  EXPECT_EQ(Run(at).result(), Result::kNotFound);
  at = store_.Place(key_, "value", {.expiry = 1001});
  EXPECT_EQ(Run(at).result(), Result::kOk);
}

TEST_F(GetTest, AReaderAsksTheServerToExpire) {
  store_.env.can_write = false;
  Location at = store_.Place(key_, "value", {.expiry = 900});
  Location asked;
  store_.on_ask_expire = [&](const Location& location) {
    asked = location;
    store_.SetWord(location.slot_address, 0);
  };
  EXPECT_EQ(Run(at).result(), Result::kNotFound);
  EXPECT_EQ(asked.word, at.word);
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, kBuckets));
}

TEST_F(GetTest, TheJudgeOfAFrozenRecordWaits) {
  Location at = store_.Place(key_, "value", {.expiry = 900});
  store_.SetWord(at.slot_address, at.word.Frozen().raw());
  store_.on_wait = [&] { store_.SetWord(at.slot_address, at.word.raw()); };
  EXPECT_EQ(Run(at).result(), Result::kNotFound);
  EXPECT_EQ(store_.waits, 1);
}

TEST_F(GetTest, AMissAmongMovedSlotsAsksForTheDirectory) {
  uint64_t slot = store_.geometry.SlotAddress(store_.PlacementOf(key_).bucket[1], 4);
  store_.SetWord(slot, SlotWord::Moved().raw());
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(slot, 0);
  };
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_EQ(store_.refreshes, 1);
}

TEST_F(GetTest, AnotherIdentityAsksForTheDirectory) {
  uint64_t header = store_.PlacementOf(key_).bucket[1];
  store_.SetWord(header, 0);
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(header, BucketHeader::Free(0, 0).raw());
  };
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_EQ(store_.refreshes, 1);
}

TEST_F(GetTest, AHeldLockIsNoObstacle) {
  uint64_t header = store_.PlacementOf(key_).bucket[0];
  store_.SetWord(header, BucketHeader::Free(0, 0).HeldBy(9, 1).raw());
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_EQ(store_.refreshes, 0);
}

TEST_F(GetTest, AnOldSampleIsNoMiss) {
  store_.before_chain = [&](size_t n) {
    if (n == 0) store_.clock += 50;
  };
  EXPECT_EQ(Run().result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, kBuckets));
}

TEST_F(GetTest, AValueReadTooLateIsReadAgain) {
  Location at = store_.Place(key_, "value");
  store_.before_chain = [&](size_t n) {
    if (n == 0) store_.clock += 50;
  };
  EXPECT_EQ(ValueOf(Run(at)), "value");
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, kBuckets, "READ record"));
}

TEST_F(GetTest, DamageIsDataLossAndNeverAValue) {
  Location at = store_.Place(key_, "value");
  store_.At(store_.geometry.RecordAddress(at.word))[24 + 3] = std::byte{'V'};
  EXPECT_EQ(Run(at).result(), Result::kDataLoss);
  EXPECT_LT(store_.chains.size(), 30u);
}

TEST_F(GetTest, AnotherGenerationIsDataLoss) {
  Location at = store_.Place(key_, "value");
  uint64_t address = store_.geometry.RecordAddress(at.word);
  store_.SetWord(address, store_.WordAt(address) + 1);
  EXPECT_EQ(Run().result(), Result::kDataLoss);
}

TEST_F(GetTest, ASlotOutsideTheHeapIsDataLoss) {
  Location at = store_.Place(key_, "value");
  store_.SetWord(at.slot_address, SlotWord::Make(uint64_t{1} << 36, 1, 5, 1).raw());
  EXPECT_EQ(Run().result(), Result::kDataLoss);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets));
}

TEST_F(GetTest, ALostChainLeavesTheValueUnavailable) {
  store_.before_chain = [&](size_t) { store_.outcome = ChainOutcome::kUnknown; };
  EXPECT_EQ(Run().result(), Result::kUnavailable);
}

TEST_F(GetTest, GivesUpAfterTheAttemptsItMayMake) {
  store_.env.max_attempts = 3;
  store_.before_chain = [&](size_t) { store_.clock += 50; };
  EXPECT_EQ(Run().result(), Result::kContended);
  EXPECT_EQ(store_.chains.size(), 3u);
}

}  // namespace
}  // namespace dunlin::testing
