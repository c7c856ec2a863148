#include "common/protocol/put.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/layout/lane.h"
#include "common/protocol/get.h"
#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kHash = HashOf(5, 1, 2);
constexpr char kLock[] = "WRITE record, CAS lock, READ b1, READ b2";
constexpr char kLockAgain[] = "CAS lock, READ b1, READ b2";
constexpr char kInsert[] = "CAS slot 0->new, CAS unlock";
constexpr char kReplace[] = "CAS slot old->new, CAS unlock";
constexpr char kOld[] = "what was there before";
constexpr char kWinner[] = "what came in between";
constexpr char kKnown[] = "WRITE record, CAS slot old->new";

class PutTest : public ::testing::Test {
 protected:
  Put Run(const Location& hint = {}, Put::Mode mode = Put::Mode::kAlways, uint64_t expiry = 0) {
    Put put(mode, key_, value_, expiry, hint);
    store_.Run(put);
    return put;
  }
  Put IfAbsent(const Location& hint = {}) { return Run(hint, Put::Mode::kIfAbsent); }

  // What a get finds now.
  std::string Stored() {
    Get get(key_, GetMode::kCopy);
    auto chains = store_.chains;
    auto before = std::move(store_.before_chain);
    store_.before_chain = nullptr;
    store_.before_swing = nullptr;
    store_.Run(get);
    store_.chains = chains;
    store_.before_chain = std::move(before);
    if (get.result() != Result::kOk) return "none";
    return {reinterpret_cast<const char*>(get.value()), get.value_bytes()};
  }
  uint64_t Lock() const { return store_.WordAt(store_.PlacementOf(key_).bucket[0]); }
  uint64_t LockAddress() const { return store_.PlacementOf(key_).bucket[0]; }
  // A cold put's only chain.
  static std::string Along(const std::string& read, const std::string& swung) {
    return std::string(kLock) + ", " + (read.empty() ? "" : read + ", ") + swung;
  }
  bool LockIsFree() const { return Lock() == BucketHeader::Free(0, 0).raw(); }
  void Hold(uint32_t owner) {
    store_.SetWord(store_.PlacementOf(key_).bucket[0],
                   BucketHeader::Free(0, 0).HeldBy(owner, 1).raw());
  }

  Store store_;
  std::span<const std::byte> value_{reinterpret_cast<const std::byte*>("mine"), 4};
  Key key_ = Store::MakeKey("key", kHash);
  Key twin_ = Store::MakeKey("twin", kHash);
};

TEST_F(PutTest, KnownLocationTakesOneRoundTrip) {
  Location old = store_.Place(key_, kOld);
  Put put = Run(old);
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_FALSE(put.absorbed());
  EXPECT_THAT(store_.chains, ElementsAre(kKnown));
  EXPECT_EQ(Stored(), "mine");
  ASSERT_EQ(store_.freed.size(), 1u);
  EXPECT_EQ(store_.freed[0].word, old.word);
  EXPECT_EQ(store_.freed[0].version, old.version);
  EXPECT_TRUE(put.block().word.empty());
  EXPECT_EQ(put.found().slot_address, old.slot_address);
  EXPECT_EQ(put.found().version, put.version());
}

TEST_F(PutTest, ColdAndPresentTakesThree) {
  Location old = store_.Place(key_, kOld);
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ head", kReplace));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_TRUE(LockIsFree());
  EXPECT_EQ(put.found().slot_address, old.slot_address);
  ASSERT_EQ(store_.freed.size(), 1u);
}

TEST_F(PutTest, ColdAndPresentTakesOneWhereSlotsAreSwungAlong) {
  store_.follows = true;
  const Location old = store_.Place(key_, kOld);
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(Along("READ head", kReplace)));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_TRUE(LockIsFree());
  ASSERT_EQ(store_.freed.size(), 1u);
  EXPECT_EQ(store_.freed[0].word, old.word);
  EXPECT_EQ(put.found().slot_address, old.slot_address);
  EXPECT_TRUE(put.block().word.empty());
}

TEST_F(PutTest, ColdAndAbsentTakesOneWhereSlotsAreSwungAlong) {
  store_.follows = true;
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(Along("", kInsert)));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_TRUE(LockIsFree());
  EXPECT_TRUE(store_.freed.empty());
  EXPECT_EQ(store_.WordAt(put.found().slot_address), put.found().word.raw());
}

TEST_F(PutTest, AbsentBesideATwinTakesOneWhereSlotsAreSwungAlong) {
  store_.follows = true;
  store_.Place(twin_, "twin's");
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(Along("READ record", kInsert)));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, MoreTwinsThanAreReadAlongAreLookedAtBeforeAnInsert) {
  store_.follows = true;
  for (int i = 0; i < 5; ++i) store_.Place(twin_, "twin's");
  EXPECT_EQ(Run().result(), Result::kOk);
  ASSERT_EQ(store_.chains.size(), 3u);
  EXPECT_EQ(store_.chains[1], "READ record");
  EXPECT_EQ(store_.chains[2], kInsert);
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, WithoutTheLockOnlyAKeyThatIsThereIsSwungAlong) {
  store_.follows = true;
  Hold(5);
  store_.on_wait = [this] { store_.SetWord(LockAddress(), BucketHeader::Free(0, 0).raw()); };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_EQ(store_.waits, 1);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, std::string(kLockAgain) + ", " + kInsert));
  Hold(5);
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains.back(), std::string(kLock) + ", READ record, CAS slot old->new");
  EXPECT_FALSE(LockIsFree());
}

TEST_F(PutTest, WhatIsBeingMovedIsNotSwungAlong) {
  store_.follows = true;
  const Location old = store_.Place(key_, kOld);
  store_.SetWord(old.slot_address, old.word.Frozen().raw());
  Hold(5);
  store_.on_wait = [&] { store_.SetWord(old.slot_address, old.word.raw()); };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_EQ(store_.waits, 1);
  EXPECT_EQ(store_.chains[0], std::string(kLock) + ", READ head");
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, WhoeverComesBetweenWhatIsReadAndSwungAlongIsSeen) {
  store_.follows = true;
  const Location old = store_.Place(key_, kOld);
  store_.before_swing = [&] { store_.Replace(old, key_, kWinner); };
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_TRUE(put.absorbed());
  EXPECT_TRUE(store_.freed.empty());
  EXPECT_EQ(Stored(), kWinner);
  EXPECT_TRUE(LockIsFree());
}

TEST_F(PutTest, IfAbsentSwingsOnlyAFreeSlotAlong) {
  store_.follows = true;
  EXPECT_EQ(IfAbsent().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(Along("", kInsert)));
  EXPECT_EQ(IfAbsent().result(), Result::kExists);
  EXPECT_THAT(store_.chains.back(), "CAS unlock");
}

TEST_F(PutTest, AnOldSampleIsNoReasonToDoubtWhatWasSwungAlong) {
  store_.follows = true;
  store_.Place(key_, kOld);
  store_.before_swing = [this] { store_.clock += store_.geometry.grace; };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_EQ(store_.chains.size(), 1u);
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, AChainThatMaySwingAlongIsOfUnknownOutcomeOnceLost) {
  store_.follows = true;
  store_.before_chain = [this](size_t) { store_.outcome = ChainOutcome::kUnknown; };
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kUnknown);
  EXPECT_TRUE(put.block().word.empty());
}

TEST_F(PutTest, ALongKeyIsNotSwungAlong) {
  store_.follows = true;
  const std::string text(kMostSwingKeyBytes + 1, 'k');
  key_ = Store::MakeKey(text, kHash);
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kInsert));
}

TEST_F(PutTest, ColdAndAbsentTakesTwo) {
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kInsert));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_TRUE(LockIsFree());
  EXPECT_TRUE(store_.freed.empty());
  EXPECT_EQ(put.found().version, put.version());
  EXPECT_EQ(store_.WordAt(put.found().slot_address), put.found().word.raw());
}

TEST_F(PutTest, AbsentBesideATwinTakesOneMore) {
  store_.Place(twin_, "twin's");
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ record", kInsert));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, GoesToTheEmptierBucket) {
  store_.Place(Store::MakeKey("other", HashOf(9, 1, 2)), "x");
  Put put = Run();
  EXPECT_EQ(put.found().slot_address,
            store_.geometry.SlotAddress(store_.PlacementOf(key_).bucket[1], 0));
}

TEST_F(PutTest, AStaleLocationThatIsEmptyGoesColdWithoutWritingAgain) {
  Location old = store_.Place(key_, kOld);
  store_.SetWord(old.slot_address, 0);
  EXPECT_EQ(Run(old).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, kLockAgain, kInsert));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, AStaleLocationWithANewRecordIsNoReasonToAbsorb) {
  Location old = store_.Place(key_, kOld);
  store_.Replace(old, key_, kWinner);
  Put put = Run(old);
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_FALSE(put.absorbed());
  EXPECT_THAT(store_.chains, ElementsAre(kKnown, "READ head", "CAS slot old->new"));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, LosingToAnotherPutWithinTheCallIsSuccess) {
  Location old = store_.Place(key_, kOld);
  store_.before_chain = [&](size_t n) {
    if (n == 2) store_.Replace(old, key_, kWinner);
  };
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_TRUE(put.absorbed());
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ head", kReplace, "READ head"));
  EXPECT_EQ(Stored(), kWinner);
  EXPECT_FALSE(put.block().word.empty()) << "it is to be given back";
  EXPECT_FALSE(put.found().known());
  EXPECT_TRUE(store_.freed.empty());
  EXPECT_TRUE(LockIsFree());
}

TEST_F(PutTest, LosingToAConditionalWriteIsNot) {
  Location old = store_.Place(key_, kOld);
  store_.before_chain = [&](size_t n) {
    if (n == 2) store_.Replace(old, key_, kWinner, {.unconditional = false});
  };
  Put put = Run();
  EXPECT_FALSE(put.absorbed());
  EXPECT_THAT(store_.chains,
              ElementsAre(kLock, "READ head", kReplace, "READ head", "CAS slot old->new"));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, LosingToARelocationIsNot) {
  Location old = store_.Place(key_, kOld);
  store_.before_chain = [&](size_t n) {
    if (n != 2) return;
    Location moved = store_.Replace(old, key_, kOld);
    store_.SetWord(store_.geometry.RecordAddress(moved.word) + 8, old.version);
  };
  EXPECT_FALSE(Run().absorbed());
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, LosingToARemoveInsertsAgain) {
  Location old = store_.Place(key_, kOld);
  store_.before_chain = [&](size_t n) {
    if (n == 2) store_.SetWord(old.slot_address, 0);
  };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ head", kReplace, kLockAgain, kInsert));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, LosingTheFreeSlotStartsAgainFromTheLock) {
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.Place(twin_, "twin's");
  };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kInsert, kLockAgain, "READ record", kInsert));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_TRUE(LockIsFree());
}

TEST_F(PutTest, AHeldLockIsNoObstacleToReplacing) {
  store_.Place(key_, kOld);
  Hold(9);
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ head", "CAS slot old->new"));
  EXPECT_EQ(Stored(), "mine");
  EXPECT_FALSE(LockIsFree()) << "it is not ours";
}

TEST_F(PutTest, AHeldLockIsWaitedForByAnInsert) {
  Hold(9);
  store_.on_wait = [&] {
    store_.SetWord(store_.PlacementOf(key_).bucket[0], BucketHeader::Free(0, 0).raw());
  };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_EQ(store_.waits, 1);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kLockAgain, kInsert));
}

TEST_F(PutTest, WhileHeldTheLockNamesSessionAndOperation) {
  store_.before_chain = [&](size_t n) {
    if (n != 1) return;
    BucketHeader held(Lock());
    EXPECT_EQ(held.owner(), store_.env.session);
    EXPECT_EQ(held.operation(), store_.env.operation);
    EXPECT_TRUE(held.SameIdentity(BucketHeader::Free(0, 0)));
  };
  EXPECT_EQ(Run().result(), Result::kOk);
}

TEST_F(PutTest, AnotherIdentityAsksForTheDirectory) {
  uint64_t header = store_.PlacementOf(key_).bucket[0];
  store_.SetWord(header, BucketHeader::Free(1, 3).raw());
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(header, BucketHeader::Free(0, 0).raw());
  };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_EQ(store_.refreshes, 1);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kLockAgain, kInsert));
}

TEST_F(PutTest, TheSecondBucketsIdentityCountsTooAndTheLockIsGivenBack) {
  uint64_t header = store_.PlacementOf(key_).bucket[1];
  store_.SetWord(header, 0);
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(header, BucketHeader::Free(0, 0).raw());
  };
  EXPECT_EQ(Run().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "CAS unlock", kLockAgain, kInsert));
}

TEST_F(PutTest, AFullIndexIsAnErrorAndTheLockIsGivenBack) {
  for (uint32_t b : {0u, 1u}) {
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      store_.Place(Store::MakeKey("other", HashOf(9, 1, 2)), "x", {.bucket = b});
    }
  }
  Put put = Run();
  EXPECT_EQ(put.result(), Result::kIndexFull);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "CAS unlock"));
  EXPECT_FALSE(put.block().word.empty());
  EXPECT_TRUE(LockIsFree());
}

TEST_F(PutTest, WithoutABlockNothingIsPosted) {
  store_.no_memory = true;
  EXPECT_EQ(Run().result(), Result::kMemoryFull);
  EXPECT_TRUE(store_.chains.empty());
}

TEST_F(PutTest, IfAbsentOfAKnownKeyTakesOneRoundTripAndNoBlock) {
  Location at = store_.Place(key_, kOld);
  Put put = IfAbsent(at);
  EXPECT_EQ(put.result(), Result::kExists);
  EXPECT_THAT(store_.chains, ElementsAre("READ head, READ slot"));
  EXPECT_TRUE(put.block().word.empty());
  EXPECT_EQ(put.found().version, at.version);
}

TEST_F(PutTest, IfAbsentInsertsAsAPut) {
  EXPECT_EQ(IfAbsent().result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, kInsert));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, IfAbsentOfAPresentKeyGivesTheLockBack) {
  store_.Place(key_, kOld);
  Put put = IfAbsent();
  EXPECT_EQ(put.result(), Result::kExists);
  EXPECT_THAT(store_.chains, ElementsAre(kLock, "READ head", "CAS unlock"));
  EXPECT_EQ(Stored(), kOld);
  EXPECT_TRUE(LockIsFree());
  EXPECT_FALSE(put.block().word.empty());
}

TEST_F(PutTest, IfAbsentReplacesAnExpiredRecordInItsSlot) {
  Location old = store_.Place(key_, kOld, {.expiry = 900});
  Put put = IfAbsent(old);
  EXPECT_EQ(put.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre("READ head, READ slot", kLock, "READ head", kReplace));
  EXPECT_EQ(put.found().slot_address, old.slot_address);
  EXPECT_EQ(store_.freed.size(), 1u);
}

TEST_F(PutTest, OnlyAnUnconditionalPutIsMarkedSo) {
  auto marked = [&](const Put& put) {
    uint64_t address = store_.geometry.RecordAddress(put.found().word);
    return RecordHeader(store_.WordAt(address)).unconditional();
  };
  EXPECT_FALSE(marked(IfAbsent()));
  EXPECT_TRUE(marked(Run()));
}

TEST_F(PutTest, AFrozenSlotIsWaitedFor) {
  Location old = store_.Place(key_, kOld);
  store_.SetWord(old.slot_address, old.word.Frozen().raw());
  Hold(9);
  store_.on_wait = [&] { store_.SetWord(old.slot_address, old.word.raw()); };
  EXPECT_EQ(Run(old).result(), Result::kOk);
  EXPECT_EQ(store_.waits, 1);
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(PutTest, AMovedSlotAsksForTheDirectory) {
  Location old = store_.Place(key_, kOld);
  store_.SetWord(old.slot_address, SlotWord::Moved().raw());
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.SetWord(old.slot_address, 0);
  };
  EXPECT_EQ(Run(old).result(), Result::kOk);
  EXPECT_EQ(store_.refreshes, 1);
}

TEST_F(PutTest, TimeToLiveIsStored) {
  Put put = Run({}, Put::Mode::kAlways, 5000);
  EXPECT_EQ(put.found().expiry, 5000u);
  Get get(key_, GetMode::kCopy);
  store_.Run(get);
  EXPECT_EQ(get.expiry(), 5000u);
}

TEST_F(PutTest, ALostLinkIsUnknownAndALostLookIsNot) {
  for (size_t lost : {0u, 1u}) {
    store_.chains.clear();
    store_.before_chain = [&](size_t n) {
      if (n == lost) store_.outcome = ChainOutcome::kUnknown;
    };
    Put put = Run();
    EXPECT_EQ(put.result(), lost == 0 ? Result::kUnavailable : Result::kUnknown);
    EXPECT_EQ(put.block().word.empty(), lost == 1) << "nobody can tell whether it is linked";
    if (lost == 1) {
      EXPECT_TRUE(put.expected_seen()) << "absence, under the lock";
      EXPECT_FALSE(put.expected().known());
    }
    store_.SetWord(store_.PlacementOf(key_).bucket[0], BucketHeader::Free(0, 0).raw());
  }
}

TEST_F(PutTest, ARefusedLinkIsNotUnknown) {
  Location old = store_.Place(key_, kOld);
  store_.before_chain = [&](size_t) { store_.outcome = ChainOutcome::kNotExecuted; };
  Put put = Run(old);
  EXPECT_EQ(put.result(), Result::kUnavailable);
  EXPECT_FALSE(put.block().word.empty());
}

}  // namespace
}  // namespace dunlin::testing
