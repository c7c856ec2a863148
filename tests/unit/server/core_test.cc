#include "server/core.h"

#include "common/layout/bucket.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

using CoreTest = CoreFixture;

uint32_t Code(BlocksOutcome outcome) { return static_cast<uint32_t>(outcome); }

TEST_F(CoreTest, TheTickIsSeenAtOnceAndNeverGoesBack) {
  core_->SetTick(5000);
  EXPECT_EQ(LoadWord(base_.get() + offsetof(Superblock, tick)), 5000u);
  core_->SetTick(4000);
  EXPECT_EQ(LoadWord(base_.get() + offsetof(Superblock, tick)), 5000u);
}

TEST_F(CoreTest, BatchesCarryBlocksAndVersions) {
  uint32_t session = Open();
  auto first = Take(session, 100, 10);
  EXPECT_EQ(first.reply.outcome, Code(BlocksOutcome::kOk));
  EXPECT_EQ(first.reply.count, 10u);
  EXPECT_EQ(first.words.size(), 10u);
  EXPECT_EQ(first.reply.batch, 1u);
  EXPECT_EQ(first.reply.first_version, 1000u);
  EXPECT_GE(first.reply.version_count, 10u);
  auto second = Take(session, 100, 10);
  EXPECT_EQ(second.reply.batch, 2u);
  EXPECT_EQ(second.reply.first_version, first.reply.first_version + first.reply.version_count)
      << "no version twice";
  for (uint64_t word : first.words) {
    EXPECT_EQ(SlotWord(word).size_class(), ClassFor(100));
    EXPECT_TRUE(pool().Find(SlotWord(word)));
  }
}

TEST_F(CoreTest, RunsAreForOneRecord) {
  auto run = Take(Open(), 200'000, 1);
  ASSERT_EQ(run.words.size(), 1u);
  EXPECT_EQ(SlotWord(run.words[0]).size_class(), kRunClass);
  EXPECT_EQ(pool().allocated_bytes(), 200'704u);
}

TEST_F(CoreTest, ASmallHeapIsNotEmptiedByOneBatch) {
  auto blocks = Take(Open(), 32768, 1024);
  EXPECT_EQ(blocks.reply.outcome, Code(BlocksOutcome::kOk));
  EXPECT_LE(blocks.words.size() * 32768, std::max<uint64_t>(32768, plan_.heap_bytes / 256));
}

TEST_F(CoreTest, BatchesOfManySizesAndSessionsAreASmallShareOfTheHeap) {
  uint64_t bytes = 0;
  uint64_t sessions[4];
  for (uint64_t& session : sessions) session = Open();
  for (int round = 0; round < 2; ++round) {
    bytes = 0;
    for (uint64_t session : sessions) {
      for (uint32_t size = 32; size <= 1024; size = BlockBytes(ClassFor(size) + 1)) {
        const auto blocks = Take(static_cast<uint32_t>(session), size, 1024);
        ASSERT_EQ(blocks.reply.outcome, Code(BlocksOutcome::kOk));
        bytes += blocks.words.size() * size;
        for (uint64_t word : blocks.words) core_->ReturnBlock(SlotWord(word));
      }
    }
  }
  EXPECT_LE(bytes, plan_.heap_bytes / 16 + 4 * 16 * 1024) << "once all sizes are known";
  EXPECT_EQ(pool().Audit(), "");
}

TEST_F(CoreTest, MemoryFullIsAnOutcomeAndNothingIsLost) {
  uint32_t session = Open();
  std::vector<uint64_t> words;
  for (;;) {
    auto blocks = Take(session, 30000, 100);
    if (blocks.reply.outcome == Code(BlocksOutcome::kMemoryFull)) {
      EXPECT_EQ(blocks.reply.count, 0u);
      break;
    }
    words.insert(words.end(), blocks.words.begin(), blocks.words.end());
    ASSERT_LT(words.size(), 1000u);
  }
  for (uint64_t word : words) ASSERT_TRUE(pool().Find(SlotWord(word)));
  core_->ReturnBlock(SlotWord(words[0]));
  Pass(kGrace - 1);
  EXPECT_EQ(Take(session, 30000, 1).reply.outcome, Code(BlocksOutcome::kMemoryFull));
  Pass(1);
  EXPECT_EQ(Take(session, 30000, 1).reply.outcome, Code(BlocksOutcome::kOk));
  EXPECT_EQ(pool().Audit(), "");
}

TEST_F(CoreTest, ACallUnderWayHoldsBackReuseAndAnIdleSessionDoesNot) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 2);
  void* word = At(plan_.session_offset);  // the first session has the first word
  StoreWord(word, core_->tick());
  core_->ReturnBlock(SlotWord(blocks.words[0]));
  Pass(10 * kGrace);
  EXPECT_EQ(pool().grace_bytes(), BlockBytes(ClassFor(100)));
  StoreWord(word, core_->tick());  // another call, begun since
  Pass(10);
  EXPECT_EQ(pool().grace_bytes(), 0u);
}

TEST_F(CoreTest, DrainingRefusesSessionsAndBlocks) {
  uint32_t session = Open();
  core_->SetState(ServerState::kDraining);
  EXPECT_EQ(LoadWord(base_.get() + offsetof(Superblock, state)),
            static_cast<uint64_t>(ServerState::kDraining));
  EXPECT_EQ(core_->OpenSession({"late", 1, false}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Take(session, 100, 1).reply.outcome, Code(BlocksOutcome::kDraining));
}

TEST_F(CoreTest, ReadOnlySessionsGetNoBlocks) {
  EXPECT_EQ(Take(Open(true), 100, 1).reply.outcome, Code(BlocksOutcome::kRefused));
}

// One that keeps a block of its first batch in hand can resolve nothing behind it.
TEST_F(CoreTest, TheBookOfASessionThatNeverResolvesStaysBounded) {
  uint32_t session = Open();
  uint64_t kept = Take(session, 32, 1).words.at(0);
  for (int round = 0; round < 400; ++round) {
    auto blocks = Take(session, 32, 1024);
    ASSERT_EQ(blocks.reply.outcome, Code(BlocksOutcome::kOk)) << round;
    for (uint64_t word : blocks.words) core_->ReturnBlock(SlotWord(word));
    Pass(kGrace);
  }
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_LT(status.sessions(0).blocks_in_hand(), 70'000u);
  core_->LoseSession(session);
  core_->FenceSession(session);
  Settle();
  EXPECT_FALSE(pool().Find(SlotWord(kept))) << "and is not forgotten";
}

TEST_F(CoreTest, AnOrderlyEndLeavesNothing) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 2);
  Link(Slot(0, 0), blocks.words[0]);
  core_->ReturnBlock(SlotWord(blocks.words[1]));
  ASSERT_TRUE(core_->Resolve(session, 1));
  core_->EndSession(session);
  EXPECT_TRUE(core_->sessions().all().empty());
  Pass(kGrace);
  EXPECT_TRUE(pool().Find(SlotWord(blocks.words[0])));
  EXPECT_EQ(pool().allocated_bytes(), BlockBytes(ClassFor(100)));
}

TEST_F(CoreTest, AGoodbyeThatForgotItsBlocksIsRecoveredFrom) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 2);
  ASSERT_NE(WriteAndLink(blocks.words[0], "linked"), 0u);
  Write(blocks.words[1], "written only");
  core_->EndSession(session);
  Settle();
  Pass(kGrace);
  EXPECT_TRUE(pool().Find(SlotWord(blocks.words[0]))) << "linked";
  EXPECT_FALSE(pool().Find(SlotWord(blocks.words[1])));
  EXPECT_EQ(pool().free_bytes(), plan_.heap_bytes - BlockBytes(ClassFor(100)));
}

TEST_F(CoreTest, ALostSessionKeepsItsBlocksLocksAndHoldBackUntilItsProcessIsGone) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 3);
  void* word = At(plan_.session_offset);
  StoreWord(word, core_->tick());
  const uint64_t lock = HoldLock(3, session);
  ASSERT_NE(WriteAndLink(blocks.words[0], "linked"), 0u);
  core_->ReturnBlock(SlotWord(blocks.words[1]));

  core_->LoseSession(session);
  EXPECT_EQ(core_->OpenSessions(), 0u);
  Pass(10 * kGrace);
  Sweep();
  EXPECT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
  EXPECT_TRUE(HeaderAt(lock).held()) << "it may still be at work in the bucket";
  EXPECT_EQ(pool().grace_bytes(), BlockBytes(ClassFor(100))) << "its call still holds it back";
  EXPECT_EQ(pool().allocated_bytes(), 2 * BlockBytes(ClassFor(100)));

  core_->FenceSession(session);
  Settle();
  EXPECT_EQ(LoadWord(word), 0u);
  auto recovered = core_->TakeRecovered();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->sessions, 1u);
  EXPECT_EQ(recovered->blocks, 1u);
  EXPECT_FALSE(core_->TakeRecovered());
  EXPECT_TRUE(pool().Find(SlotWord(blocks.words[0]))) << "linked, so it stays";
  EXPECT_FALSE(pool().Find(SlotWord(blocks.words[2])));
  Pass(kGrace);
  EXPECT_EQ(pool().grace_bytes(), 0u);
  EXPECT_TRUE(core_->sessions().all().empty());
  EXPECT_TRUE(HeaderAt(lock).held()) << "nobody has asked for it";
  RunPatrol();
  EXPECT_EQ(HeaderAt(lock), BucketHeader::Free(0, 0)) << "the walk that the end woke";
}

TEST_F(CoreTest, RecoveryLeavesOthersAlone) {
  uint32_t dead = Open();
  uint32_t alive = Open();
  auto theirs = Take(alive, 100, 5);
  Take(dead, 100, 5);
  const uint64_t lock = HoldLock(0, alive);
  core_->LoseSession(dead);
  core_->FenceSession(dead);
  Settle();
  Sweep();
  EXPECT_EQ(HeaderAt(lock).owner(), alive);
  for (uint64_t word : theirs.words) EXPECT_TRUE(pool().Find(SlotWord(word)));
  EXPECT_EQ(pool().allocated_bytes(), 5 * BlockBytes(ClassFor(100)));
}

// A block of the dead session that another client unlinked and returned, and that is in a third
// one's hands by now, is not the dead session's any more.
TEST_F(CoreTest, RecoveryComparesGenerations) {
  uint32_t dead = Open();
  uint32_t alive = Open();
  auto blocks = Take(dead, 100, 1);
  core_->ReturnBlock(SlotWord(blocks.words[0]));  // linked by the one, replaced by the other
  Pass(kGrace);
  auto again = Take(alive, 100, 1);
  ASSERT_EQ(SlotWord(again.words[0]).heap_offset(), SlotWord(blocks.words[0]).heap_offset());
  core_->LoseSession(dead);
  core_->FenceSession(dead);
  Settle();
  EXPECT_EQ(core_->TakeRecovered()->blocks, 0u);
  EXPECT_TRUE(pool().Find(SlotWord(again.words[0])));
}

// The same with a batch so old that all 16 bits have come round meanwhile.
TEST_F(CoreTest, RecoverySparesABlockInLivingHandsWhoseGenerationCameRound) {
  uint32_t dead = Open();
  uint32_t alive = Open();
  auto blocks = Take(dead, 100, 1);
  core_->ReturnBlock(SlotWord(blocks.words[0]));
  Pass(kGrace);
  uint64_t word = 0;
  for (uint32_t reuse = 0; reuse < 65536; ++reuse) {
    auto again = Take(alive, 100, 1);
    word = again.words.at(0);
    if (reuse == 65535) break;
    core_->ReturnBlock(SlotWord(word));
    ASSERT_TRUE(core_->Resolve(alive, again.reply.batch));
    Pass(kGrace);
    RunPatrol();
  }
  ASSERT_EQ(word, blocks.words[0]) << "the very same word again";
  core_->LoseSession(dead);
  core_->FenceSession(dead);
  Settle();
  EXPECT_EQ(core_->TakeRecovered()->blocks, 0u);
  EXPECT_TRUE(pool().Find(SlotWord(word)));
}

TEST_F(CoreTest, SessionWordsAreUsedAgainAndIdsAreNot) {
  uint32_t first = Open();
  core_->EndSession(first);
  uint32_t second = Open();
  EXPECT_NE(second, first);
  for (int i = 1; i < 8; ++i) Open();
  auto none = core_->OpenSession({"one too many", 1, false});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CoreTest, ExpireEmptiesTheSlotOfAnExpiredRecordOnly) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 3);
  SlotWord expired = SlotWord(blocks.words[0]).WithFingerprint(3);
  SlotWord fresh = SlotWord(blocks.words[1]).WithFingerprint(4);
  SlotWord lasting = SlotWord(blocks.words[2]).WithFingerprint(5);
  WriteRecord(expired, true, core_->tick());
  WriteRecord(fresh, true, core_->tick() + 1);
  WriteRecord(lasting, false, 0);
  Link(Slot(1, 0), expired.raw());
  Link(Slot(1, 1), fresh.raw());
  Link(Slot(1, 2), lasting.raw());

  EXPECT_TRUE(core_->Expire(Slot(1, 0), expired));
  EXPECT_EQ(LoadWord(At(Slot(1, 0))), 0u);
  EXPECT_EQ(pool().grace_bytes(), BlockBytes(ClassFor(100)));
  EXPECT_TRUE(core_->Expire(Slot(1, 0), expired)) << "gone already: nothing to do";
  EXPECT_TRUE(core_->Expire(Slot(1, 1), fresh));
  EXPECT_TRUE(core_->Expire(Slot(1, 2), lasting));
  EXPECT_EQ(LoadWord(At(Slot(1, 1))), fresh.raw());
  EXPECT_EQ(LoadWord(At(Slot(1, 2))), lasting.raw());
}

TEST_F(CoreTest, ExpireBelievesNothing) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 1);
  SlotWord word(blocks.words[0]);
  WriteRecord(word, true, 1);
  uint64_t header = plan_.index_offset + kBucketBytes;
  uint64_t before = LoadWord(At(header));
  EXPECT_FALSE(core_->Expire(header, SlotWord(before))) << "a bucket's header";
  EXPECT_FALSE(core_->Expire(header, word));
  EXPECT_EQ(LoadWord(At(header)), before);
  EXPECT_FALSE(core_->Expire(plan_.heap_offset, word)) << "the heap";
  EXPECT_FALSE(core_->Expire(8, word)) << "the superblock";
  EXPECT_FALSE(core_->Expire(~uint64_t{7}, word));
  EXPECT_FALSE(core_->Expire(plan_.index_offset + plan_.index_bytes + 8, word));
  EXPECT_FALSE(core_->Expire(Slot(0, 0) + 4, word)) << "no word";
  EXPECT_FALSE(core_->Expire(Slot(0, 0), SlotWord::Empty()));
  EXPECT_FALSE(core_->Expire(Slot(0, 0), SlotWord::Moved()));
  // A slot with a word of no block, as only a broken client writes it.
  SlotWord nowhere = SlotWord::Make(plan_.heap_bytes + 4096, ClassFor(100), 0, 0);
  Link(Slot(0, 0), nowhere.raw());
  EXPECT_FALSE(core_->Expire(Slot(0, 0), nowhere));
  EXPECT_EQ(LoadWord(At(Slot(0, 0))), nowhere.raw());
}

// Locks.

TEST_F(CoreTest, ALockOfTheDeadIsReleasedForWhoWaits) {
  const uint32_t dead = Open();
  const uint64_t lock = HoldLock(3, dead);
  const BucketHeader held = HeaderAt(lock);
  EXPECT_TRUE(core_->ExamineLock(lock, held.HeldBy(dead, 999)));
  EXPECT_EQ(HeaderAt(lock), held) << "that is not what is there";
  EXPECT_TRUE(core_->ExamineLock(lock, held));
  EXPECT_EQ(HeaderAt(lock), held) << "it lives";
  core_->SetTick(core_->tick() + 10);
  core_->LoseSession(dead);
  EXPECT_TRUE(core_->ExamineLock(lock, held));
  EXPECT_EQ(HeaderAt(lock), held) << "its process may go on";
  core_->SetTick(core_->tick() + 7);
  core_->FenceSession(dead);
  EXPECT_TRUE(core_->ExamineLock(lock, held));
  EXPECT_EQ(HeaderAt(lock), BucketHeader::Free(0, 0));
  EXPECT_TRUE(core_->ExamineLock(lock, held)) << "again: nothing to do";
  EXPECT_EQ(HeaderAt(lock), BucketHeader::Free(0, 0));
  // Whoever never was.
  HoldLock(4, 4'000'000);
  const uint64_t other = plan_.index_offset + 4 * kBucketBytes;
  EXPECT_TRUE(core_->ExamineLock(other, HeaderAt(other)));
  EXPECT_FALSE(HeaderAt(other).held());
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_EQ(status.locks_released(), 2u);
  EXPECT_EQ(status.lock_release_ms_max(), 7u);
  EXPECT_GE(status.locks_examined(), 5u);
}

TEST_F(CoreTest, ExamineLockBelievesNothing) {
  const uint64_t slot = Slot(0, 0);
  const uint64_t before = BucketHeader::Free(0, 0).HeldBy(4'000'000, 1).raw();
  Link(slot, before);
  for (uint64_t address :
       {slot, uint64_t{0}, uint64_t{128}, plan_.session_offset, plan_.directory_offset,
        plan_.index_offset + 1, plan_.index_offset + 64, plan_.index_offset + plan_.index_bytes,
        plan_.heap_offset, plan_.region_bytes, ~uint64_t{127}, ~uint64_t{0}}) {
    EXPECT_FALSE(core_->ExamineLock(address, BucketHeader(before))) << address;
  }
  EXPECT_EQ(LoadWord(At(slot)), before);
  // The server's own locks are a split's.
  const uint64_t own = HoldLock(9, BucketHeader::kMaxOwner);
  EXPECT_TRUE(core_->ExamineLock(own, HeaderAt(own)));
  EXPECT_TRUE(HeaderAt(own).held());
  EXPECT_TRUE(core_->TakeOverdue().empty());
}

TEST_F(CoreTest, ALivingSessionThatKeepsALockIsOverdueOnce) {
  const uint32_t session = Open();
  Open();
  const uint64_t lock = HoldLock(3, session);
  const uint64_t other = HoldLock(4, session);
  const uint64_t patience = core_->config().lock_patience;
  for (uint64_t waited = 0; waited < patience; waited += 20) {
    ASSERT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
    ASSERT_TRUE(core_->TakeOverdue().empty()) << waited;
    Pass(20);
  }
  ASSERT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
  const std::vector<OverdueSession> overdue = core_->TakeOverdue();
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].id, session);
  EXPECT_EQ(overdue[0].pid, 123u);
  EXPECT_NE(overdue[0].why.find("lock"), std::string::npos) << overdue[0].why;
  EXPECT_TRUE(HeaderAt(lock).held()) << "until it is fenced";
  for (int i = 0; i < 100; ++i) {
    Pass(20);
    ASSERT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
    ASSERT_TRUE(core_->ExamineLock(other, HeaderAt(other)));
  }
  EXPECT_TRUE(core_->TakeOverdue().empty()) << "it is being ended already";
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_EQ(status.sessions_killed(), 1u);
}

TEST_F(CoreTest, ALockThatIsTakenAgainAndAgainIsNotOverdue) {
  const uint32_t session = Open();
  for (uint32_t operation = 0; operation < 200; ++operation) {
    const uint64_t lock = HoldLock(3, session, operation);
    ASSERT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
    Pass(20);
  }
  EXPECT_TRUE(core_->TakeOverdue().empty());
}

TEST_F(CoreTest, ARemoteSessionThatIsOverdueHasNoProcessToKill) {
  auto session = core_->OpenSession({"remote", 123, false, "tcp 192.0.2.1:99"});
  ASSERT_TRUE(session.ok());
  const uint64_t lock = HoldLock(3, (*session)->id);
  std::vector<OverdueSession> overdue;
  for (int i = 0; i < 60 && overdue.empty(); ++i) {
    ASSERT_TRUE(core_->ExamineLock(lock, HeaderAt(lock)));
    overdue = core_->TakeOverdue();
    Pass(20);
  }
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].pid, 0u);
}

// Hold-back.

TEST_F(CoreTest, HoldingBackReuseIsOverdueOnlyWhileMemoryIsShort) {
  const uint32_t holder = Open();
  const uint32_t writer = Open();
  const uint64_t patience = core_->config().hold_patience;
  StoreWord(At(plan_.session_offset), core_->tick());  // the holder's word
  core_->ReturnBlock(SlotWord(Take(writer, 100, 1).words.at(0)));
  for (uint64_t waited = 0; waited <= 2 * patience; waited += 50) Pass(50);
  EXPECT_TRUE(core_->TakeOverdue().empty()) << "nobody needs the memory";
  EXPECT_GT(pool().grace_bytes(), 0u);

  while (Take(writer, 32768, 100).reply.count != 0) {
  }
  Pass(50);
  const std::vector<OverdueSession> overdue = core_->TakeOverdue();
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].id, holder);
  EXPECT_NE(overdue[0].why.find("reuse"), std::string::npos) << overdue[0].why;
  Pass(50);
  EXPECT_TRUE(core_->TakeOverdue().empty()) << "once";
  core_->LoseSession(holder);
  core_->FenceSession(holder);
  Pass(50);
  EXPECT_EQ(pool().grace_bytes(), 0u);
}

TEST_F(CoreTest, AShortCallIsNotOverdueHoweverShortMemoryIs) {
  Open();
  const uint32_t writer = Open();
  core_->ReturnBlock(SlotWord(Take(writer, 100, 1).words.at(0)));
  while (Take(writer, 32768, 100).reply.count != 0) {
  }
  for (int i = 0; i < 500; ++i) {
    StoreWord(At(plan_.session_offset), core_->tick());
    Pass(50);
    Take(writer, 32768, 1);
  }
  EXPECT_TRUE(core_->TakeOverdue().empty());
}

TEST_F(CoreTest, CountsTheIndexInPieces) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 3);
  for (uint32_t i = 0; i < 3; ++i) Link(Slot(i * 7, i), blocks.words[i]);
  Link(Slot(9, 9), SlotWord::Moved().raw());
  HoldLock(0, session);
  uint64_t ticket = core_->RequestCount();
  EXPECT_FALSE(core_->CountDone(ticket));
  Settle();
  EXPECT_TRUE(core_->CountDone(ticket));
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_EQ(status.items(), 3u);
  EXPECT_EQ(status.locks_held(), 1u);
  EXPECT_EQ(status.index_slots(), plan_.index_bytes / kBucketBytes * kSlotsPerBucket);
}

TEST_F(CoreTest, StatusAddsUp) {
  uint32_t session = Open();
  auto blocks = Take(session, 100, 10);
  Take(session, 50'000, 1);
  core_->ReturnBlock(SlotWord(blocks.words[0]));
  core_->ReturnBlock(SlotWord(blocks.words[0]));
  StoreWord(At(plan_.session_offset), core_->tick() - 30);
  control::StatusReply status;
  core_->FillStatus(status);
  EXPECT_EQ(status.heap_used_bytes() + status.heap_grace_bytes() + status.heap_free_bytes() +
                status.heap_index_bytes(),
            status.heap_bytes());
  EXPECT_EQ(status.heap_bytes(), plan_.heap_bytes);
  ASSERT_EQ(status.classes_size(), 2);
  EXPECT_EQ(status.classes(0).blocks_used(), 9u);
  EXPECT_EQ(status.classes(1).size_class(), kRunClass);
  EXPECT_EQ(status.returns_refused(), 1u);
  EXPECT_EQ(status.state(), "serving");
  ASSERT_EQ(status.sessions_size(), 1);
  EXPECT_EQ(status.sessions(0).pid(), 123u);
  EXPECT_EQ(status.sessions(0).blocks_in_hand(), 11u);
  EXPECT_TRUE(status.sessions(0).in_call());
  EXPECT_EQ(status.sessions(0).in_call_ms(), 30u);
}

}  // namespace
}  // namespace dunlin
