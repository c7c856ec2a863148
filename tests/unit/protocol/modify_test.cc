#include "common/protocol/modify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/protocol/get.h"
#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kHash = HashOf(5, 1, 2);
constexpr char kBuckets[] = "READ b1, READ b2";
constexpr char kSwing[] = "WRITE record, CAS slot old->new";
constexpr char kUnlink[] = "CAS slot old->0";

class ModifyTest : public ::testing::Test {
 protected:
  Modify::Request RequestOf(ModifyKind kind) const {
    Modify::Request request;
    request.kind = kind;
    request.key = key_;
    request.value = {reinterpret_cast<const std::byte*>("mine"), 4};
    return request;
  }
  Modify Run(const Modify::Request& request, const Location& hint = {}) {
    Modify modify(request, hint);
    store_.Run(modify);
    return modify;
  }
  Modify Run(ModifyKind kind, const Location& hint = {}) { return Run(RequestOf(kind), hint); }
  Modify Add(int64_t delta, const Location& hint = {}) {
    Modify::Request request = RequestOf(ModifyKind::kAdd);
    request.delta = delta;
    return Run(request, hint);
  }
  Modify CompareAndSet(uint64_t expected, const Location& hint = {}) {
    Modify::Request request = RequestOf(ModifyKind::kCompareAndSet);
    request.expected_version = expected;
    return Run(request, hint);
  }

  std::string Stored(uint64_t* expiry = nullptr) {
    Get get(key_, GetMode::kCopy);
    auto chains = store_.chains;
    store_.before_chain = nullptr;
    store_.Run(get);
    store_.chains = chains;
    if (get.result() != Result::kOk) return "none";
    if (expiry != nullptr) *expiry = get.expiry();
    return {reinterpret_cast<const char*>(get.value()), get.value_bytes()};
  }

  Store store_;
  Key key_ = Store::MakeKey("key", kHash);
  Key twin_ = Store::MakeKey("twin", kHash);
};

TEST_F(ModifyTest, KnownReplaceAndRemoveTakeOneRoundTrip) {
  Location at = store_.Place(key_, "old");
  Modify replace = Run(ModifyKind::kReplace, at);
  EXPECT_EQ(replace.result(), Result::kOk);
  EXPECT_EQ(Stored(), "mine");
  EXPECT_THAT(store_.chains, ElementsAre(kSwing));
  EXPECT_EQ(replace.found().version, replace.version());
  EXPECT_TRUE(replace.block().word.empty());

  store_.chains.clear();
  Modify remove = Run(ModifyKind::kRemove, replace.found());
  EXPECT_EQ(remove.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kUnlink));
  EXPECT_EQ(Stored(), "none");
  ASSERT_EQ(store_.freed.size(), 2u);
  EXPECT_EQ(store_.freed[0].word, at.word);
  EXPECT_EQ(store_.freed[1].word, replace.found().word);
  EXPECT_EQ(store_.freed[1].version, replace.version());
}

TEST_F(ModifyTest, ColdReplaceAndRemoveTakeThree) {
  store_.Place(key_, "a long old value");
  EXPECT_EQ(Run(ModifyKind::kReplace).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ head", kSwing));
  EXPECT_EQ(Stored(), "mine");
  store_.chains.clear();
  EXPECT_EQ(Run(ModifyKind::kRemove).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record", kUnlink));
  EXPECT_EQ(Stored(), "none");
}

TEST_F(ModifyTest, AllFindThatTheKeyIsMissingInOne) {
  for (ModifyKind kind : {ModifyKind::kReplace, ModifyKind::kCompareAndSet, ModifyKind::kAdd,
                          ModifyKind::kTouch, ModifyKind::kRemove}) {
    store_.chains.clear();
    Modify modify = Run(kind);
    EXPECT_EQ(modify.result(), Result::kNotFound);
    EXPECT_TRUE(modify.block().word.empty());
    EXPECT_THAT(store_.chains, ElementsAre(kBuckets));
  }
}

TEST_F(ModifyTest, AStaleLocationIsLookedAtBeforeAnythingIsSaid) {
  Location old = store_.Place(key_, "old");
  store_.SetWord(old.slot_address, 0);
  store_.Place(key_, "elsewhere", {.bucket = 1});
  EXPECT_EQ(Run(ModifyKind::kRemove, old).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kUnlink, kBuckets, "READ head", kUnlink));
  EXPECT_EQ(Stored(), "none");
}

TEST_F(ModifyTest, AStaleLocationWithANewRecordTakesTwoMore) {
  Location old = store_.Place(key_, "old");
  store_.Replace(old, key_, "newer");
  EXPECT_EQ(Run(ModifyKind::kReplace, old).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kSwing, "READ record, READ slot", kSwing));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(ModifyTest, CompareAndSetOfTheKnownVersionTakesOne) {
  Location at = store_.Place(key_, "old");
  EXPECT_EQ(CompareAndSet(at.version, at).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kSwing));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(ModifyTest, CompareAndSetOfAnotherVersionLooksFirst) {
  Location old = store_.Place(key_, "old");
  Location now = store_.Replace(old, key_, "newer");
  Location stale = old;
  EXPECT_EQ(CompareAndSet(now.version, stale).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre("READ record, READ slot", "READ record", kSwing));
  EXPECT_EQ(Stored(), "mine");
}

TEST_F(ModifyTest, CompareAndSetOfAnotherVersionThatIsCurrentTakesOneToMismatch) {
  Location at = store_.Place(key_, "old");
  Modify modify = CompareAndSet(at.version + 1, at);
  EXPECT_EQ(modify.result(), Result::kVersionMismatch);
  EXPECT_EQ(modify.version(), at.version);
  EXPECT_THAT(store_.chains, ElementsAre("READ record, READ slot"));
  EXPECT_EQ(Stored(), "old");
}

TEST_F(ModifyTest, ColdCompareAndSetTakesThree) {
  Location at = store_.Place(key_, "a long old value");
  EXPECT_EQ(CompareAndSet(at.version).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ head", kSwing));
}

TEST_F(ModifyTest, CompareAndSetThatLosesToARewriteIsAMismatch) {
  Location at = store_.Place(key_, "old");
  store_.before_chain = [&](size_t n) {
    if (n == 2) store_.Replace(at, key_, "winner");
  };
  Modify modify = CompareAndSet(at.version);
  EXPECT_EQ(modify.result(), Result::kVersionMismatch);
  EXPECT_FALSE(modify.block().word.empty()) << "it is to be given back";
  EXPECT_EQ(Stored(), "winner");
}

TEST_F(ModifyTest, AddTakesTwoWhenKnownAndThreeWhenCold) {
  Location at = store_.Place(key_, "-5");
  Modify first = Add(12, at);
  EXPECT_EQ(first.result(), Result::kOk);
  EXPECT_EQ(first.sum(), 7);
  EXPECT_THAT(store_.chains, ElementsAre("READ record, READ slot", kSwing));
  EXPECT_EQ(Stored(), "7");
  store_.chains.clear();
  EXPECT_EQ(Add(-10).sum(), -3);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record", kSwing));
  EXPECT_EQ(Stored(), "-3");
}

TEST_F(ModifyTest, AddThatLosesItsSwingAddsToTheWinner) {
  Location at = store_.Place(key_, "1");
  store_.before_chain = [&](size_t n) {
    if (n == 1) store_.Replace(at, key_, "100");
  };
  EXPECT_EQ(Add(1, at).sum(), 101);
  EXPECT_EQ(Stored(), "101");
}

TEST_F(ModifyTest, AddKeepsTheExpiryAlsoOfARecordThatItMetLate) {
  Location at = store_.Place(key_, "1");
  store_.before_chain = [&](size_t n) {
    if (n == 0) store_.Replace(at, key_, "2", {.expiry = 5000});
  };
  EXPECT_EQ(Add(1, at).sum(), 3);
  uint64_t expiry = 0;
  EXPECT_EQ(Stored(&expiry), "3");
  EXPECT_EQ(expiry, 5000u);
}

TEST_F(ModifyTest, AddRefusesWhatIsNoInteger) {
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1.0", "9223372036854775808",
                           "-9223372036854775809", "000000000000000000000001", "many words"}) {
    Store fresh;
    Modify::Request request = RequestOf(ModifyKind::kAdd);
    request.delta = 1;
    Location at = fresh.Place(key_, text);
    Modify modify(request, at);
    fresh.Run(modify);
    EXPECT_EQ(modify.result(), Result::kNotInteger) << '"' << text << '"';
    EXPECT_EQ(fresh.WordAt(at.slot_address), at.word.raw());
    EXPECT_EQ(fresh.chains.size(), 1u);
  }
}

TEST_F(ModifyTest, AddGoesToTheLimitsAndNotOver) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  Location at = store_.Place(key_, "-1");
  EXPECT_EQ(Add(kMin + 1, at).sum(), kMin);
  EXPECT_EQ(Stored(), "-9223372036854775808");
  EXPECT_EQ(Add(-1).result(), Result::kOverflow);
  EXPECT_EQ(Stored(), "-9223372036854775808");
  EXPECT_EQ(Add(kMax).sum(), -1);
}

TEST_F(ModifyTest, AnIntegerTooLongThatWasReadTooLateIsReadAgain) {
  Location at = store_.Place(key_, std::string(30, 'x'));
  store_.before_chain = [&](size_t n) {
    if (n != 0) return;
    store_.Replace(at, key_, "5");
    store_.SetWord(at.slot_address, at.word.raw());
    store_.clock += 50;
  };
  EXPECT_EQ(Add(1, at).result(), Result::kNotInteger);
  EXPECT_EQ(store_.chains.size(), 3u);
}

TEST_F(ModifyTest, TouchTakesTwoWhenKnownAndThreeWhenCold) {
  Location at = store_.Place(key_, "value");
  Modify::Request request = RequestOf(ModifyKind::kTouch);
  request.expiry = 5000;
  Modify touch = Run(request, at);
  EXPECT_EQ(touch.result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre("READ record, READ slot", kSwing));
  uint64_t expiry = 0;
  EXPECT_EQ(Stored(&expiry), "value");
  EXPECT_EQ(expiry, 5000u);
  store_.chains.clear();
  request.expiry = 0;
  EXPECT_EQ(Run(request).result(), Result::kOk);
  EXPECT_THAT(store_.chains, ElementsAre(kBuckets, "READ record", kSwing));
  EXPECT_EQ(Stored(&expiry), "value");
  EXPECT_EQ(expiry, 0u);
}

TEST_F(ModifyTest, TouchByReferenceToo) {
  store_.env.references = true;
  Location at = store_.Place(key_, "value");
  Modify::Request request = RequestOf(ModifyKind::kTouch);
  request.expiry = 5000;
  EXPECT_EQ(Run(request, at).result(), Result::kOk);
  uint64_t expiry = 0;
  EXPECT_EQ(Stored(&expiry), "value");
  EXPECT_EQ(expiry, 5000u);
}

TEST_F(ModifyTest, AnExpiredRecordIsNotPresent) {
  Location at = store_.Place(key_, "value", {.expiry = 900});
  EXPECT_EQ(Run(ModifyKind::kReplace, at).result(), Result::kNotFound);
  EXPECT_THAT(store_.chains, ElementsAre("READ head, READ slot", kUnlink, kBuckets));
  ASSERT_EQ(store_.freed.size(), 1u);
  EXPECT_EQ(store_.freed[0].word, at.word);
}

TEST_F(ModifyTest, ConditionalWritesAreMarkedSo) {
  Location at = store_.Place(key_, "1");
  for (ModifyKind kind : {ModifyKind::kReplace, ModifyKind::kAdd, ModifyKind::kTouch}) {
    Modify modify = Run(kind);
    ASSERT_EQ(modify.result(), Result::kOk);
    uint64_t address = store_.geometry.RecordAddress(modify.found().word);
    EXPECT_FALSE(RecordHeader(store_.WordAt(address)).unconditional());
    at = store_.Replace(at, key_, "1");
  }
}

TEST_F(ModifyTest, AFrozenRecordIsWaitedFor) {
  Location at = store_.Place(key_, "value");
  store_.SetWord(at.slot_address, at.word.Frozen().raw());
  store_.on_wait = [&] { store_.SetWord(at.slot_address, at.word.raw()); };
  EXPECT_EQ(Run(ModifyKind::kRemove, at).result(), Result::kOk);
  EXPECT_EQ(store_.waits, 1);
}

TEST_F(ModifyTest, AMovedSlotAsksForTheDirectory) {
  Location at = store_.Place(key_, "value");
  store_.before_chain = [&](size_t n) {
    store_.SetWord(at.slot_address, n == 0 ? SlotWord::Moved().raw() : at.word.raw());
  };
  EXPECT_EQ(Run(ModifyKind::kRemove, at).result(), Result::kOk);
  EXPECT_EQ(store_.refreshes, 1);
}

TEST_F(ModifyTest, WithoutABlockNothingIsChanged) {
  Location at = store_.Place(key_, "value");
  store_.no_memory = true;
  EXPECT_EQ(Run(ModifyKind::kReplace, at).result(), Result::kMemoryFull);
  EXPECT_EQ(Run(ModifyKind::kReplace).result(), Result::kMemoryFull);
  EXPECT_EQ(Run(ModifyKind::kRemove, at).result(), Result::kOk) << "a remove needs none";
}

TEST_F(ModifyTest, ALostSwingIsUnknownAndALostLookIsNot) {
  store_.Place(key_, "value");
  for (size_t lost : {0u, 1u, 2u}) {
    store_.chains.clear();
    store_.before_chain = [&](size_t n) {
      if (n == lost) store_.outcome = ChainOutcome::kUnknown;
    };
    Modify modify = Run(ModifyKind::kReplace);
    EXPECT_EQ(modify.result(), lost == 2 ? Result::kUnknown : Result::kUnavailable);
    EXPECT_TRUE(modify.block().word.empty());
    EXPECT_EQ(modify.expected().known(), lost == 2);
  }
}

}  // namespace
}  // namespace dunlin::testing
