#include <string>
#include <vector>

#include "server/eviction/evictor.h"
#include "server/eviction/use_reader.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

// An Evictor of its own beside the fixture's core, over the core's region: with an allocator and an
// index that the test fills.
class EvictionTest : public CoreFixture {
 protected:
  EvictionTest() : region_(base_.get(), plan_), allocator_(plan_.heap_bytes, kGrace) {
    index_.emplace(region_, plan_);
    evictor_.emplace(region_, Evictor::Parts{&*index_, &allocator_, &*atomics_});
  }

  // Records until no block of the class is left; the words, in the order of their blocks.
  std::vector<SlotWord> Fill(SizeClass c, const std::string& prefix) {
    std::vector<SlotWord> words;
    std::vector<BlockRef> block;
    for (int n = 0;; ++n) {
      block.clear();
      if (allocator_.Take(c, 1, tick_, block) == 0) break;
      const SlotWord word = Write(block[0].word().raw(), prefix + std::to_string(n));
      if (LinkKey(prefix + std::to_string(n), word) == 0) {
        allocator_.Return(word, tick_);  // the index of the test does not grow
        break;
      }
      words.push_back(word);
    }
    return words;
  }

  void Work(uint64_t ticks) {
    for (uint64_t end = tick_ + ticks; tick_ < end; ++tick_) {
      for (int turn = 0; turn < 1000 && evictor_->Step(tick_); ++turn) {
      }
      allocator_.Advance(tick_, {tick_, 0}, 100'000);
    }
    EXPECT_EQ(pool().Audit(), "");
  }

  // What a client does that puts so many records of the class a tick, as far as there is room.
  uint64_t Put(SizeClass c, uint32_t blocks, uint64_t ticks) {
    uint64_t got = 0;
    std::vector<BlockRef> taken;
    for (uint64_t t = 0; t < ticks; ++t) {
      taken.clear();
      got += allocator_.Take(c, blocks, tick_, taken);
      evictor_->NoteDemand(c, blocks);
      for (BlockRef block : taken) {
        const std::string key = "put" + std::to_string(next_++);
        const SlotWord word = Write(block.word().raw(), key);
        if (LinkKey(key, word) == 0) allocator_.Return(word, tick_);
      }
      Work(1);
    }
    return got;
  }

  const BlockPool& pool() const { return allocator_.pool(); }

  static constexpr SizeClass kSmall = ClassFor(200);
  static constexpr SizeClass kLarge = ClassFor(1000);
  RegionView region_;
  Allocator allocator_;
  std::optional<IndexSpace> index_;
  std::optional<Evictor> evictor_;
  uint64_t tick_ = 1000;
  int next_ = 0;
};

TEST_F(EvictionTest, NothingGoesWhileNobodyAsksForMore) {
  const auto words = Fill(kLarge, "k");
  ASSERT_GT(words.size(), 1000u);
  Work(1000);
  EXPECT_EQ(evictor_->evicted(), 0u);
  EXPECT_TRUE(Read("k0"));
}

TEST_F(EvictionTest, RoomIsMadeAtTheRateOfWhatIsPut) {
  Fill(kLarge, "k");
  Put(kLarge, 2, 500);  // the rate gets known, and the first grace period passes
  const uint64_t evicted = evictor_->evicted();
  EXPECT_EQ(Put(kLarge, 2, 1000), 2000u) << "from then on there is always a block";
  EXPECT_NEAR(static_cast<double>(evictor_->evicted() - evicted), 2000, 400);
  // And no more is kept free than the grace period and some time take.
  EXPECT_LT(pool().use(kLarge).free + pool().use(kLarge).grace, 2 * (kGrace + 200) + 200);
}

TEST_F(EvictionTest, WhatWasUsedStaysAndWhatWasNotGoes) {
  const auto words = Fill(kLarge, "k");
  for (size_t n = 0; n < words.size(); n += 4) allocator_.marks().NoteUse(words[n]);
  // Half of all goes: the hand comes round once at most.
  const uint64_t half = words.size() / 2;
  for (uint64_t put = 0; evictor_->evicted() < half; put += 2) {
    ASSERT_LT(put, 10 * half);
    Put(kLarge, 2, 1);
  }
  for (size_t n = 0; n < words.size(); n += 4) {
    ASSERT_TRUE(Read("k" + std::to_string(n))) << n;
  }
}

TEST_F(EvictionTest, AClassThatKeepsItsRecordsForLongGivesWayToOneInNeed) {
  const auto words = Fill(kSmall, "small");
  ASSERT_GT(words.size(), 5000u);
  Put(kLarge, 2, 2000);
  EXPECT_GT(evictor_->slabs_given_up(), 0u);
  EXPECT_GT(Put(kLarge, 2, 500), 900u);
}

// A class whose slabs are longer than those around it, and that has none yet.
TEST_F(EvictionTest, LongSlabsFindRoomAmongShortOnes) {
  constexpr SizeClass kLongest = ClassFor(15 * 1024);
  Fill(kLarge, "k");
  // What the index of the test has no place for.
  std::vector<BlockRef> rest;
  while (allocator_.Take(kLarge, 1, tick_, rest) != 0) {
  }
  ASSERT_LT(pool().shapes()[kLarge].pages, pool().shapes()[kLongest].pages);
  for (BlockRef block : rest) allocator_.Return(block.word(), tick_);
  Work(kGrace + 1);
  while (pool().free_slab_bytes(kLongest) != 0) ASSERT_TRUE(allocator_.TakeRun(kPageBytes, tick_));
  EXPECT_EQ(Put(kLongest, 1, 10), 0u);
  EXPECT_GT(Put(kLongest, 1, 1000), 0u);
}

TEST_F(EvictionTest, RunsFindRoomAmongOthers) {
  Fill(kLarge, "k");
  constexpr uint64_t kBytes = 300'000;
  ASSERT_FALSE(allocator_.TakeRun(kBytes, tick_));
  bool found = false;
  for (int i = 0; i < 50 && !found; ++i) {
    evictor_->NoteMissingRun(kBytes / kPageBytes + 1);
    Work(kGrace);
    found = allocator_.TakeRun(kBytes, tick_).has_value();
  }
  EXPECT_TRUE(found);
}

TEST_F(EvictionTest, BlocksInSomebodysHandsStay) {
  Fill(kLarge, "k");
  Put(kLarge, 2, 500);
  std::vector<BlockRef> mine;
  ASSERT_EQ(allocator_.Take(kLarge, 50, tick_, mine), 50u);
  Put(kLarge, 4, 2000);
  for (BlockRef block : mine) EXPECT_TRUE(pool().Allocated(block));
}

// What a session's strips bring about.
class UseReaderTest : public EvictionTest {
 protected:
  UseReaderTest()
      : area_{plan_.heap_offset + plan_.heap_bytes / 2 / kPageBytes * kPageBytes, 4},
        reader_(region_, area_, plan_.session_words),
        sessions_(plan_.session_words) {
    auto session = sessions_.Add();
    EXPECT_TRUE(session.ok());
    word_ = (*session)->word;
    reader_.Begin(word_);
  }

  void Tell(uint64_t number, SlotWord word) {
    std::byte* strip = region_.At(area_.Address(word_, number));
    for (uint32_t i = 1; i < kUsesPerStrip; ++i) StoreWord(strip + i * kWordBytes, word.raw());
    StoreWord(strip, number);
  }
  // How often the hand has to pass over the block before it is taken: its uses.
  int UsesOf(SlotWord word) {
    std::vector<BlockRef> victims;
    for (int uses = 0;; ++uses) {
      victims.clear();
      allocator_.marks().AdvanceHand(word.size_class(), 1, 1, victims);
      if (!victims.empty() || uses > 100) return uses;
    }
  }
  SlotWord OneBlock() {
    std::vector<BlockRef> block;
    EXPECT_EQ(allocator_.Take(kSmall, 1, tick_, block), 1u);
    return block[0].word();
  }

  const AccessArea area_;
  UseReader reader_;
  SessionRegistry sessions_;
  uint32_t word_ = 0;
};

TEST_F(UseReaderTest, StripsAreReadOnceEachInOrder) {
  EXPECT_FALSE(reader_.Read(sessions_, allocator_));
  const SlotWord word = OneBlock();
  Tell(1, word);
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
  EXPECT_FALSE(reader_.Read(sessions_, allocator_));
  EXPECT_EQ(reader_.strips_read(), 1u);
  EXPECT_EQ(UsesOf(word), static_cast<int>(BlockPool::kMostUses));
  for (uint64_t number = 2; number <= 4; ++number) Tell(number, word);
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
  EXPECT_EQ(reader_.strips_read(), 4u);
}

TEST_F(UseReaderTest, WhatWasOverwrittenIsPassedOver) {
  const SlotWord word = OneBlock();
  for (uint64_t number = 1; number <= 11; ++number) Tell(number, word);
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
  EXPECT_LE(reader_.strips_read(), 4u);
  Tell(12, word);
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
  EXPECT_FALSE(reader_.Read(sessions_, allocator_));
}

TEST_F(UseReaderTest, AnotherSessionBeginsAnew) {
  const SlotWord word = OneBlock();
  Tell(3, word);
  reader_.Read(sessions_, allocator_);
  reader_.Begin(word_);
  EXPECT_FALSE(reader_.Read(sessions_, allocator_)) << "what its predecessor told is gone";
  Tell(1, word);
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
}

TEST_F(UseReaderTest, BelievesNothing) {
  const SlotWord word = OneBlock();
  Tell(1, SlotWord(~uint64_t{0}));
  Tell(2, SlotWord::Moved());
  Tell(3, SlotWord::Make(word.heap_offset(), kLarge, 0, 0));                      // another class
  Tell(4, SlotWord::Make(word.heap_offset(), kSmall, 0, word.generation() + 1));  // generation
  EXPECT_TRUE(reader_.Read(sessions_, allocator_));
  EXPECT_EQ(UsesOf(word), 0);
}

}  // namespace
}  // namespace dunlin
