#include "server/growth/grower.h"

#include <set>

#include "common/base/random.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

// A grower of the test's own, on the core's region.
class GrowerTest : public CoreFixture {
 protected:
  GrowerTest()
      : region_(base_.get(), plan_),
        index_(region_, plan_),
        allocator_(plan_.heap_bytes, plan_.grace_ms),
        grower_(region_, {&index_, &allocator_, &*atomics_}, BucketHeader::kMaxOwner) {}

  uint64_t SlotsOfOne() const { return uint64_t{geometry_.bucket_mask + 1} * kSlotsPerBucket; }
  uint64_t Records(double load) const {
    return static_cast<uint64_t>(load * static_cast<double>(SlotsOfOne()));
  }
  // Into the one subtable there is.
  void Fill(uint64_t records) {
    std::vector<BlockRef> blocks;
    ASSERT_EQ(allocator_.Take(ClassFor(48), static_cast<uint32_t>(records), 1, blocks), records);
    for (BlockRef block : blocks) {
      const std::string key = "key" + std::to_string(filled_++);
      ASSERT_NE(WriteAndLink(block.word().raw(), key, ""), 0u);
    }
  }
  // Steps at one tick until there is nothing to do, or it waits.
  void Step(uint64_t tick) {
    for (int turn = 0; turn < 1000 && grower_.splitting() && !grower_.awaited_lock(); ++turn) {
      grower_.Step(tick);
    }
  }
  std::vector<std::byte> IndexNow() const {
    const std::byte* begin = base_.get() + plan_.index_offset;
    return {begin, begin + plan_.index_bytes};
  }

  RegionView region_;
  IndexSpace index_;
  Allocator allocator_;
  Grower grower_;
  uint64_t filled_ = 0;
};

TEST_F(GrowerTest, SplitsInProportionToTheLoad) {
  EXPECT_FALSE(grower_.Next(0, 1));
  EXPECT_FALSE(grower_.Next(Records(Grower::kBeginLoad), 1));
  const auto next = grower_.Next(Records(Grower::kBeginLoad) + 100, 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, index_.At(0));
  grower_.Start(*next, 1);
  EXPECT_FALSE(grower_.Next(Records(2 * Grower::kEndLoad), 1)) << "one at a time";
  ASSERT_NE(grower_.splitting(), nullptr);
  EXPECT_EQ(*grower_.splitting(), *next);
  Step(1);
  EXPECT_EQ(grower_.splitting(), nullptr);
  EXPECT_EQ(grower_.figures().splits, 1u);
  EXPECT_EQ(index_.subtables(), 2u);
  EXPECT_FALSE(grower_.Next(Records(2 * Grower::kBeginLoad), 1));

  // At a load of two it has all of that depth done at the end load, one after another.
  const double middle = (Grower::kBeginLoad + Grower::kEndLoad) / 2;
  std::set<uint32_t> split;
  while (const auto one = grower_.Next(Records(2 * middle), 1)) {
    EXPECT_EQ(one->depth, 1u);
    split.insert(one->prefix);
    grower_.Start(*one, 1);
    Step(1);
  }
  EXPECT_EQ(split.size(), 1u) << "half of them at half the way";
  while (const auto one = grower_.Next(Records(2 * Grower::kEndLoad), 1)) {
    EXPECT_EQ(one->depth, 1u);
    split.insert(one->prefix);
    grower_.Start(*one, 1);
    Step(1);
  }
  EXPECT_EQ(split, (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(index_.CountAt(2), 4u);
}

TEST_F(GrowerTest, WhoeverFindsNoSlotGetsASplit) {
  Fill(Records(Grower::kLeastLoad) + 100);
  EXPECT_FALSE(grower_.Next(filled_, 1));
  EXPECT_EQ(grower_.Ask(12345, 0, 1), GrowOutcome::kGrows);
  EXPECT_EQ(grower_.Ask(54321, 0, 1), GrowOutcome::kGrows) << "the same subtable: asked once";
  const auto next = grower_.Next(filled_, 1);
  ASSERT_TRUE(next);
  grower_.Start(*next, 1);
  EXPECT_EQ(grower_.Ask(12345, 0, 1), GrowOutcome::kGrows) << "under way";
  Step(1);
  EXPECT_EQ(index_.subtables(), 2u);
  EXPECT_EQ(grower_.Ask(12345, 0, 1), GrowOutcome::kGrows) << "his directory is old";
  EXPECT_FALSE(grower_.Next(filled_, 1)) << "and there is nothing to do";
  EXPECT_EQ(grower_.Ask(12345, 1, 1), GrowOutcome::kFull) << "half as full now";
}

TEST_F(GrowerTest, ABucketMadeToOverflowSplitsNoEmptySubtable) {
  for (uint64_t bucket : {5, 6}) {
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      Link(Slot(bucket, s), SlotWord::Make(4096 + 104 * s, ClassFor(104), 1, 1).raw());
    }
  }
  EXPECT_EQ(grower_.Ask(0, 0, 1), GrowOutcome::kFull);
  EXPECT_FALSE(grower_.Next(30, 1));
}

TEST_F(GrowerTest, WithoutMemoryItDoesNotGrowAndTriesAgainLater) {
  Fill(Records((Grower::kBeginLoad + Grower::kEndLoad) / 2));
  std::vector<BlockRef> runs;
  while (const auto run = allocator_.TakeRun(kPageBytes, 1)) runs.push_back(*run);
  EXPECT_EQ(grower_.Ask(0, 0, 1), GrowOutcome::kFull);
  EXPECT_FALSE(grower_.Next(filled_, 1));
  for (BlockRef run : runs) ASSERT_TRUE(allocator_.Return(run.word(), 1));
  allocator_.Advance(1 + kGrace, {1 + kGrace, 0}, ~0u);
  EXPECT_FALSE(grower_.Next(filled_, 2)) << "a search in vain is not repeated at once";
  EXPECT_TRUE(grower_.Next(filled_, 1 + kGrace));
  EXPECT_EQ(grower_.Ask(0, 0, 1 + kGrace), GrowOutcome::kGrows);
}

TEST_F(GrowerTest, AHeldLockIsWaitedForShortlyAndTheSplitDoneLater) {
  Fill(Records((Grower::kBeginLoad + Grower::kEndLoad) / 2));
  const uint64_t lock = HoldLock(700, 9);
  const std::vector<std::byte> before = IndexNow();
  const uint64_t tick = 1000;
  grower_.Start(*grower_.Next(filled_, tick), tick);
  Step(tick);
  ASSERT_EQ(grower_.awaited_lock(), lock);
  uint64_t now = tick;
  for (; grower_.splitting() != nullptr && now < tick + 100; ++now) {
    for (int turn = 0; turn < 100; ++turn) grower_.Step(now);
  }
  EXPECT_LE(now, tick + 10) << "the others' locks were kept for that long";
  EXPECT_EQ(grower_.figures().cancelled, 1u);
  EXPECT_FALSE(grower_.awaited_lock());
  EXPECT_EQ(IndexNow(), before) << "no trace";
  EXPECT_FALSE(grower_.Next(filled_, now)) << "a pause";
  StoreWord(At(lock), HeaderAt(lock).Unheld().raw());
  const auto again = grower_.Next(filled_, now + 20);
  ASSERT_TRUE(again);
  grower_.Start(*again, now + 20);
  Step(now + 20);
  EXPECT_EQ(grower_.figures().splits, 1u);
  EXPECT_EQ(index_.subtables(), 2u);
}

TEST_F(GrowerTest, ALockThatIsGivenBackInTimeIsNoReasonToCancel) {
  const uint64_t lock = HoldLock(700, 9);
  grower_.Start(index_.At(0), 1);
  Step(1);
  ASSERT_EQ(grower_.awaited_lock(), lock);
  grower_.Step(3);
  StoreWord(At(lock), HeaderAt(lock).Unheld().raw());
  for (int turn = 0; turn < 1000 && grower_.splitting() != nullptr; ++turn) grower_.Step(4);
  EXPECT_EQ(grower_.figures().splits, 1u);
  EXPECT_EQ(grower_.figures().cancelled, 0u);
  EXPECT_EQ(grower_.figures().longest_ticks, 3u);
}

TEST_F(GrowerTest, ASubtableWithGarbageIsLeftAlone) {
  Fill(Records((Grower::kBeginLoad + Grower::kEndLoad) / 2));
  Link(Slot(3, 3), SlotWord::Make(plan_.heap_bytes + 4096, ClassFor(104), 1, 1).raw());
  const std::vector<std::byte> before = IndexNow();
  grower_.Start(*grower_.Next(filled_, 1), 1);
  Step(1);
  EXPECT_EQ(grower_.splitting(), nullptr);
  EXPECT_EQ(grower_.figures().faults, 1u);
  EXPECT_FALSE(grower_.figures().last_fault.empty());
  EXPECT_EQ(IndexNow(), before);
  EXPECT_TRUE(grower_.fault().ok()) << "that is no fault of the server's";
  EXPECT_EQ(grower_.Ask(0, 0, 2), GrowOutcome::kFull);
  EXPECT_FALSE(grower_.Next(filled_, 10'000));
  EXPECT_EQ(index_.subtables(), 1u);
}

// The whole, as the core drives it.
class GrowthTest : public CoreFixture {
 protected:
  GrowthTest() : CoreFixture(uint64_t{64} << 20) {}

  // Inserts records as long as clients would find room for them, a batch at a time.
  void Insert(uint32_t session, uint32_t count) {
    const auto blocks = Take(session, 40, count);
    ASSERT_EQ(blocks.words.size(), count);
    for (uint64_t block : blocks.words) {
      const std::string key = std::to_string(records_++);
      ASSERT_NE(WriteAndLink(block, key, ""), 0u) << "no room for the record " << records_;
    }
    ASSERT_TRUE(core_->Resolve(session, blocks.reply.batch));
  }
  double LoadNow() const {
    return static_cast<double>(records_) / static_cast<double>(core_->index().slots());
  }

  uint64_t records_ = 0;
};

TEST_F(GrowthTest, KeepsTheLoadBetweenItsBoundsFromOneSubtableTo64) {
  const uint32_t session = Open();
  double highest = 0;
  double lowest = 1;
  while (core_->index().subtables() < 64) {
    Insert(session, 512);
    Pass(64);  // so that it counts anew
    ASSERT_EQ(core_->grower().splitting(), nullptr);
    highest = std::max(highest, LoadNow());
    if (core_->index().subtables() > 1) lowest = std::min(lowest, LoadNow());
    ASSERT_LT(records_, 1'000'000u);
  }
  EXPECT_LT(highest, Grower::kEndLoad);
  EXPECT_GT(lowest, Grower::kEndLoad / 2 - 0.05);
  EXPECT_EQ(core_->grower().figures().splits, 63u);
  EXPECT_EQ(core_->grower().figures().faults, 0u);
  for (uint64_t i = 0; i < records_; ++i) ASSERT_EQ(Read(std::to_string(i)), "") << i;
  EXPECT_EQ(pool().Audit(), "");
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_EQ(status.subtables(), 64u);
  EXPECT_EQ(status.splits(), 63u);
  EXPECT_EQ(status.index_bytes(), 64 * core_->index().subtable_bytes());
}

TEST_F(GrowthTest, ALockOfTheDeadDoesNotStopASplit) {
  const uint32_t session = Open();
  const uint32_t dead = Open();
  for (int i = 0; i < 13; ++i) Insert(session, 512);
  const uint64_t lock = HoldLock(700, dead);
  core_->LoseSession(dead);
  core_->FenceSession(dead);
  EXPECT_EQ(core_->AskGrow(0, 0), GrowOutcome::kGrows);
  Settle();
  EXPECT_EQ(core_->index().subtables(), 2u);
  EXPECT_EQ(core_->grower().figures().cancelled, 0u);
  EXPECT_EQ(HeaderAt(lock).raw(), 0u) << "retired";
  for (uint64_t i = 0; i < records_; ++i) ASSERT_EQ(Read(std::to_string(i)), "") << i;
}

// Retired subtables serve again, so that the index takes no more of the heap than it needs.
TEST_F(GrowthTest, RetiredSubtablesServeAgain) {
  const uint32_t session = Open();
  while (core_->index().subtables() < 8) {
    Insert(session, 512);
    Pass(kGrace);
  }
  Pass(kGrace);
  EXPECT_LE(core_->index().spare_bytes(), 3 * core_->index().subtable_bytes());
  EXPECT_EQ(pool().index_bytes() + plan_.index_bytes,
            core_->index().index_bytes() + core_->index().spare_bytes());
}

}  // namespace
}  // namespace dunlin
