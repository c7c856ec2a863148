#include "server/patrol/patrol.h"

#include <map>

#include "common/base/random.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

constexpr uint64_t kPeriod = 10'000;

class PatrolTest : public CoreFixture {
 protected:
  // Blocks of a batch that is resolved at once: as of a session that is done with them.
  std::vector<uint64_t> TakeResolved(uint32_t session, uint32_t bytes, uint32_t count) {
    std::vector<uint64_t> words;
    while (words.size() < count) {
      const auto blocks = Take(session, bytes, static_cast<uint32_t>(count - words.size()));
      EXPECT_GT(blocks.words.size(), 0u);
      if (blocks.words.empty()) break;
      words.insert(words.end(), blocks.words.begin(), blocks.words.end());
      EXPECT_TRUE(core_->Resolve(session, blocks.reply.batch));
    }
    return words;
  }
  const Patrol& patrol() const { return core_->patrol(); }
  const Patrol::Figures& figures() const { return core_->patrol().figures(); }
  bool Allocated(uint64_t word) const { return pool().Find(SlotWord(word)).has_value(); }
  // Until the first walk of a sweep that begins now is over; its ticket.
  uint64_t FirstWalk() {
    const uint64_t walks = figures().walks;
    const uint64_t ticket = core_->patrol().RequestSweep();
    for (int turn = 0; turn < 10'000 && figures().walks == walks; ++turn) core_->StepPatrol();
    EXPECT_EQ(figures().walks, walks + 1);
    EXPECT_FALSE(patrol().Swept(ticket));
    return ticket;
  }
  void Finish(uint64_t ticket) {
    for (int turn = 0; turn < 100 && !patrol().Swept(ticket); ++turn) {
      RunPatrol();
      if (!patrol().Swept(ticket)) Pass(kGrace / 4);
    }
    ASSERT_TRUE(patrol().Swept(ticket));
  }
};

// Expiry.

TEST_F(PatrolTest, ReclaimsWhatHasExpiredAndNothingElse) {
  const uint32_t session = Open();
  const auto words = TakeResolved(session, 100, 6);
  const uint64_t now = core_->tick();
  const uint64_t expired = WriteAndLink(words[0], "expired", "v", now);
  const uint64_t long_ago = WriteAndLink(words[1], "long ago", "v", 1);
  const uint64_t lasting = WriteAndLink(words[2], "lasting");
  const uint64_t later = WriteAndLink(words[3], "later", "v", now + 100'000);
  const uint64_t frozen = WriteAndLink(words[4], "frozen", "v", 1);
  Link(frozen, SlotWord(LoadWord(At(frozen))).Frozen().raw());
  const uint64_t damaged = WriteAndLink(words[5], "damaged", "v", 1);
  std::byte* record = base_.get() + geometry_.RecordAddress(SlotWord(words[5]));
  StoreWord(record, LoadWord(record) ^ 1);  // of another generation
  const uint64_t used = pool().allocated_bytes();

  FirstWalk();
  EXPECT_EQ(LoadWord(At(expired)), 0u);
  EXPECT_EQ(LoadWord(At(long_ago)), 0u);
  EXPECT_EQ(Read("lasting"), "a value");
  EXPECT_EQ(Read("later"), "v");
  EXPECT_EQ(Read("frozen"), "v");
  EXPECT_NE(LoadWord(At(lasting)), 0u);
  EXPECT_NE(LoadWord(At(later)), 0u);
  EXPECT_NE(LoadWord(At(damaged)), 0u) << "what is not understood is left alone";
  EXPECT_EQ(figures().expired, 2u);
  EXPECT_EQ(figures().items, 4u);
  EXPECT_EQ(figures().expiring_items, 2u);
  EXPECT_EQ(pool().grace_bytes(), 2u * BlockBytes(ClassFor(100)));
  EXPECT_EQ(pool().allocated_bytes(), used - 2u * BlockBytes(ClassFor(100)));
  EXPECT_FALSE(Allocated(words[0]));
  Pass(kGrace);
  EXPECT_EQ(pool().grace_bytes(), 0u);
  EXPECT_EQ(core_->allocator().returns_refused(), 0u);

  Link(frozen, SlotWord(LoadWord(At(frozen))).Thawed().raw());
  Sweep();
  EXPECT_EQ(LoadWord(At(frozen)), 0u) << "the next walk takes it";
}

TEST_F(PatrolTest, AnExpiredRecordNamedByTwoSlotsIsFreedOnce) {
  const auto words = TakeResolved(Open(), 100, 1);
  const uint64_t slot = WriteAndLink(words[0], "twice", "v", 1);
  Link(slot + (slot % kBucketBytes == 8 ? 8 : -8), LoadWord(At(slot)));
  Sweep();
  EXPECT_EQ(figures().expired, 1u);
  EXPECT_EQ(pool().Audit(), "");
  EXPECT_EQ(core_->allocator().returns_refused(), 0u);
}

// Mark and sweep.

TEST_F(PatrolTest, WhatIsNobodysComesBackAfterTwoWalksAndAGracePeriod) {
  const uint32_t session = Open();
  const auto words = TakeResolved(session, 100, 2);
  const uint64_t run = TakeResolved(session, 100'000, 1)[0];
  WriteAndLink(words[0], "linked");
  Write(words[1], "orphan");
  const uint64_t ticket = FirstWalk();
  const uint64_t end_of_first = core_->tick();
  while (figures().walks < 2) {
    EXPECT_TRUE(Allocated(words[1])) << "one walk is not enough";
    RunPatrol();
    if (figures().walks < 2) Pass(1);
    ASSERT_LT(core_->tick(), end_of_first + 2 * kGrace);
  }
  EXPECT_GE(core_->tick(), end_of_first + kGrace) << "walks are a grace period apart";
  Finish(ticket);
  EXPECT_EQ(figures().sweeps, 1u);
  EXPECT_EQ(figures().swept_blocks, 2u);
  EXPECT_FALSE(Allocated(words[1]));
  EXPECT_FALSE(Allocated(run));
  EXPECT_TRUE(Allocated(words[0]));
  EXPECT_EQ(Read("linked"), "a value");
  const uint64_t freed = BlockBytes(ClassFor(100)) + RunBytes(100'000);
  Pass(kGrace - 1);
  EXPECT_EQ(pool().grace_bytes(), freed) << "who saw it still may read it";
  Pass(1);
  EXPECT_EQ(pool().grace_bytes(), 0u);
  EXPECT_EQ(Sweep(), 0u);
}

TEST_F(PatrolTest, ALateReturnOfASweptBlockIsRefused) {
  const uint64_t word = TakeResolved(Open(), 100, 1)[0];
  EXPECT_EQ(Sweep(), 1u);
  core_->ReturnBlock(SlotWord(word));
  EXPECT_EQ(core_->allocator().returns_refused(), 1u);
  Pass(kGrace);
  core_->ReturnBlock(SlotWord(word));
  EXPECT_EQ(core_->allocator().returns_refused(), 2u);
  EXPECT_EQ(pool().free_bytes(), plan_.heap_bytes);
  EXPECT_EQ(pool().Audit(), "");
}

TEST_F(PatrolTest, ABatchThatIsNotResolvedIsItsSessions) {
  const uint32_t session = Open();
  const auto blocks = Take(session, 100, 10);
  const uint32_t lost = Open();
  const auto theirs = Take(lost, 100, 10);
  core_->LoseSession(lost);
  EXPECT_EQ(Sweep(), 0u);
  for (uint64_t word : blocks.words) EXPECT_TRUE(Allocated(word));
  for (uint64_t word : theirs.words) EXPECT_TRUE(Allocated(word)) << "its process may go on";
  ASSERT_TRUE(core_->Resolve(session, blocks.reply.batch));
  EXPECT_EQ(Sweep(), 10u);
}

TEST_F(PatrolTest, WhatIsTakenMeanwhileIsNotSwept) {
  const uint32_t session = Open();
  const uint64_t ticket = FirstWalk();
  const auto words = TakeResolved(session, 100, 5);
  const uint64_t run = TakeResolved(session, 100'000, 1)[0];
  Finish(ticket);
  EXPECT_EQ(figures().swept_blocks, 0u);
  for (uint64_t word : words) EXPECT_TRUE(Allocated(word));
  EXPECT_TRUE(Allocated(run));
  EXPECT_EQ(Sweep(), 6u) << "but by the next sweep";
}

TEST_F(PatrolTest, ABlockThatCameBackAndWentOutAgainMeanwhileIsNotSwept) {
  const uint32_t session = Open();
  const uint64_t word = TakeResolved(session, 100, 1)[0];
  const uint64_t ticket = FirstWalk();
  core_->ReturnBlock(SlotWord(word));
  Pass(kGrace);
  const uint64_t again = TakeResolved(session, 100, 1)[0];
  ASSERT_EQ(SlotWord(again).heap_offset(), SlotWord(word).heap_offset());
  Finish(ticket);
  EXPECT_EQ(figures().swept_blocks, 0u);
  EXPECT_TRUE(Allocated(again));
}

// Resolved after its session's turn and linked behind the first walk: the second one sees it.
TEST_F(PatrolTest, WhatIsLinkedBehindTheFirstWalkIsSeenByTheSecond) {
  const uint32_t session = Open();
  const auto blocks = Take(session, 100, 3);
  // The last of them is in a slot during the first walk only.
  const uint64_t slot = WriteAndLink(blocks.words[2], "moves");
  const uint64_t ticket = FirstWalk();
  const uint64_t word = LoadWord(At(slot));
  Link(slot, 0);
  WriteAndLink(blocks.words[0], "behind");
  ASSERT_TRUE(core_->Resolve(session, blocks.reply.batch));
  Finish(ticket);
  EXPECT_EQ(figures().swept_blocks, 0u);
  EXPECT_EQ(Read("behind"), "a value");
  EXPECT_TRUE(Allocated(blocks.words[1])) << "it was in an unresolved batch when that mattered";
  EXPECT_TRUE(Allocated(word)) << "a slot named it in one of the walks";
  EXPECT_EQ(Sweep(), 2u);
  EXPECT_EQ(Read("behind"), "a value");
}

TEST_F(PatrolTest, ASweepAskedForInTheMidstOfOneIsAnother) {
  const uint32_t session = Open();
  const uint64_t first = FirstWalk();
  const uint64_t word = TakeResolved(session, 100, 1)[0];
  const uint64_t second = core_->patrol().RequestSweep();
  Finish(first);
  EXPECT_FALSE(patrol().Swept(second));
  EXPECT_TRUE(Allocated(word));
  Finish(second);
  EXPECT_FALSE(Allocated(word));
  EXPECT_EQ(figures().sweeps, 2u);
}

// Locks.

TEST_F(PatrolTest, ReleasesTheLocksOfTheDeadAndNoOthers) {
  const uint32_t dead = Open();
  const uint32_t lost = Open();
  const uint32_t alive = Open();
  const uint64_t of_dead = HoldLock(3, dead);
  const uint64_t of_nobody = HoldLock(4, 4'000'000);
  const uint64_t of_lost = HoldLock(5, lost);
  const uint64_t of_alive = HoldLock(6, alive);
  const uint64_t of_server = HoldLock(7, BucketHeader::kMaxOwner);
  core_->LoseSession(lost);
  core_->LoseSession(dead);
  core_->FenceSession(dead);
  Settle();
  RunPatrol();
  EXPECT_EQ(figures().walks, 1u) << "a dead session ends the rest";
  EXPECT_EQ(HeaderAt(of_dead), BucketHeader::Free(0, 0));
  EXPECT_EQ(HeaderAt(of_nobody), BucketHeader::Free(0, 0));
  EXPECT_EQ(HeaderAt(of_lost).owner(), lost);
  EXPECT_EQ(HeaderAt(of_alive).owner(), alive);
  EXPECT_EQ(HeaderAt(of_server).owner(), BucketHeader::kMaxOwner);
  EXPECT_EQ(figures().locks_released, 2u);
}

// Pace.

TEST_F(PatrolTest, RestsBetweenWalksUnlessSomebodyWaits) {
  Sweep();
  const uint64_t walks = figures().walks;
  EXPECT_FALSE(patrol().urgent());
  EXPECT_FALSE(core_->StepPatrol());
  EXPECT_FALSE(patrol().Due(core_->tick()));
  Pass(kPeriod - 2 * kGrace);
  RunPatrol();
  EXPECT_EQ(figures().walks, walks) << "the period is not over";
  Pass(2 * kGrace);
  EXPECT_TRUE(patrol().Due(core_->tick()));
  RunPatrol();
  EXPECT_EQ(figures().walks, walks + 1);
  Pass(kPeriod / 2);
  EXPECT_FALSE(patrol().Due(core_->tick()));
  core_->patrol().Wake();
  EXPECT_TRUE(patrol().Due(core_->tick()));
  EXPECT_FALSE(patrol().urgent()) << "it need not hurry for that";
  RunPatrol();
  EXPECT_EQ(figures().walks, walks + 2);
  EXPECT_FALSE(patrol().Due(core_->tick()));
  core_->patrol().RequestSweep();
  EXPECT_TRUE(patrol().urgent());
  EXPECT_TRUE(patrol().Due(core_->tick()));
}

TEST_F(PatrolTest, DoesNotRestWhileMemoryIsShort) {
  Sweep();
  const uint32_t session = Open();
  EXPECT_FALSE(core_->StepPatrol());
  EXPECT_FALSE(patrol().urgent());
  while (Take(session, 32768, 100).reply.count != 0) {
  }
  EXPECT_TRUE(core_->StepPatrol());
  EXPECT_TRUE(patrol().urgent());
  RunPatrol();
  // Long after the last refusal it does.
  Pass(2'000);
  RunPatrol();
  EXPECT_FALSE(patrol().urgent());
}

// Sparse slabs.

TEST_F(PatrolTest, EmptiesSparseSlabsAndValuesStayReadable) {
  const uint32_t session = Open();
  std::map<std::string, uint64_t> slots;
  int count = 0;
  for (;;) {
    const auto blocks = Take(session, 1024, 10);
    if (blocks.words.empty()) break;
    for (uint64_t word : blocks.words) {
      const std::string key = "key" + std::to_string(count++);
      const uint64_t slot = WriteAndLink(word, key, key + std::string(900, '.'));
      ASSERT_NE(slot, 0u);
      slots[key] = slot;
    }
    ASSERT_TRUE(core_->Resolve(session, blocks.reply.batch));
  }
  ASSERT_LT(pool().free_page_bytes(), uint64_t{pool().shapes()[ClassFor(1024)].pages} * kPageBytes);
  // Three in four go, at random, so that hardly a slab becomes empty by itself.
  Random random(5);
  for (auto next = slots.begin(); next != slots.end();) {
    auto here = next++;
    if (random.Below(4) == 0) continue;
    core_->ReturnBlock(SlotWord(LoadWord(At(here->second))));
    Link(here->second, 0);
    slots.erase(here);
  }
  Pass(kGrace);
  EXPECT_LT(pool().free_page_bytes(), pool().heap_bytes() / 8);
  const auto take_run = [&] {
    return core_->TakeBlocks(session, {kRunClass, 1, 200'000, 0}).reply.count == 1;
  };
  bool run = take_run();
  EXPECT_FALSE(run);
  for (int i = 0; i < 40 && !run; ++i) {
    Sweep();
    Pass(kGrace);
    ASSERT_EQ(pool().Audit(), "");
    for (const auto& [key, slot] : slots) {
      ASSERT_EQ(Read(key), key + std::string(900, '.'));
    }
    run = take_run();
  }
  EXPECT_TRUE(run);
  EXPECT_GT(figures().relocated, 0u);
  EXPECT_EQ(figures().swept_blocks, 0u) << "a copy was taken for an orphan";
  EXPECT_EQ(pool().allocated_blocks(), slots.size() + 1);
}

// Whatever clients write into slots and records.
TEST_F(PatrolTest, GarbageInSlotsHarmsNobody) {
  const uint32_t session = Open();
  const auto words = TakeResolved(session, 100, 50);
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t slot =
        Slot(random.Below(geometry_.bucket_mask + 1), static_cast<uint32_t>(random.Below(15)));
    uint64_t word = random.Next();
    if (random.Below(3) == 0) {
      // Near to what is there.
      word = words[random.Below(words.size())] ^ (uint64_t{1} << random.Below(40));
    }
    Link(slot, word);
  }
  // Hostile records in blocks that are linked.
  for (size_t i = 0; i < words.size(); i += 2) {
    std::byte* record = base_.get() + geometry_.RecordAddress(SlotWord(words[i]));
    for (uint32_t at = 0; at < 32; at += 8) StoreWord(record + at, random.Next());
  }
  // In buckets that are given some room again.
  std::map<std::string, uint64_t> good;
  for (uint64_t word : TakeResolved(session, 100, 50)) {
    const std::string key = "good" + std::to_string(good.size());
    for (uint64_t bucket : PlaceOf(key).bucket) Link(geometry_.SlotAddress(bucket, 14), 0);
    ASSERT_NE(WriteAndLink(word, key), 0u);
    good[key] = word;
  }
  for (int i = 0; i < 3; ++i) Sweep();
  EXPECT_EQ(pool().Audit(), "");
  // A later one may have had its slot emptied for its bucket.
  size_t there = 0;
  for (const auto& [key, word] : good) {
    if (!Find(key)) continue;
    ++there;
    EXPECT_TRUE(Allocated(word)) << key;
  }
  EXPECT_GT(there, good.size() * 8 / 10);
}

// All together: sessions that put, replace, remove, lose blocks and die, while the index grows and
// the patrol walks. In the end there is exactly what was put, and no block is lost.
TEST_F(PatrolTest, ARandomLifeLosesNothing) {
  Random random(17);
  std::map<std::string, std::string> expected;
  uint32_t session = Open();
  for (int round = 0; round < 1500; ++round) {
    const auto blocks = Take(session, 100, 40);
    for (uint64_t word : blocks.words) {
      const uint64_t choice = random.Below(20);
      if (choice == 0) continue;  // it forgets the block
      const std::string key = "key" + std::to_string(random.Below(14'000));
      const std::string value = std::to_string(round);
      const std::optional<Found> found = Find(key);
      ASSERT_EQ(found.has_value(), expected.contains(key)) << key;
      if (!found) {
        ASSERT_NE(WriteAndLink(word, key, value), 0u);
        expected[key] = value;
      } else if (choice < 4) {
        Link(found->slot, 0);
        core_->ReturnBlock(found->word);
        core_->ReturnBlock(SlotWord(word));
        expected.erase(key);
      } else {
        Link(found->slot, Write(word, key, value).raw());
        if (choice != 5) core_->ReturnBlock(found->word);  // else it forgets to
        expected[key] = value;
      }
    }
    if (random.Below(50) == 0) {
      core_->LoseSession(session);
      core_->FenceSession(session);
      session = Open();
    } else {
      ASSERT_TRUE(core_->Resolve(session, blocks.reply.batch));
    }
    for (uint64_t step = random.Below(30); step > 0; --step) core_->StepPatrol();
    // Clients and splits take turns here; the walk stands anywhere.
    Pass(random.Below(20));
    ASSERT_EQ(core_->grower().splitting(), nullptr);
  }
  EXPECT_GT(core_->grower().figures().splits, 0u);
  EXPECT_GT(figures().sweeps, 1u);
  Sweep();
  Sweep();
  EXPECT_GT(figures().swept_blocks, 0u);
  for (const auto& [key, value] : expected) ASSERT_EQ(Read(key), value) << key;
  EXPECT_EQ(figures().items, expected.size());
  EXPECT_EQ(pool().allocated_blocks(), expected.size()) << "blocks are lost";
  EXPECT_EQ(pool().Audit(), "");
  EXPECT_EQ(core_->allocator().returns_refused(), 0u);
}

}  // namespace
}  // namespace dunlin
