// What each verb does, and what it brings back.

#include <algorithm>
#include <cstring>

#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"
#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

constexpr std::byte kGuard{0xA5};

class EffectsTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    seat_ = Open();
    ASSERT_NE(seat_, nullptr);
    at_ = Take(*seat_, kRoom);
    content_ = Pattern(kRoom, 7);
    Store(channel(), at_, content_);
  }
  Channel& channel() { return seat_->channel(); }
  std::span<const std::byte> Content(size_t from, size_t bytes) const {
    return std::span(content_).subspan(from, bytes);
  }

  static constexpr uint64_t kRoom = 1024;
  std::unique_ptr<Seat> seat_;
  uint64_t at_ = 0;
  Bytes content_;
};

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// A buffer with guards in front of and behind what may be written to.
struct Guarded {
  explicit Guarded(size_t bytes) : room(kMargin + bytes + kMargin, kGuard), bytes(bytes) {}
  std::byte* data() { return room.data() + kMargin; }
  std::span<const std::byte> inside() const { return std::span(room).subspan(kMargin, bytes); }
  bool intact() const {
    const auto untouched = [](std::byte b) { return b == kGuard; };
    return std::all_of(room.begin(), room.begin() + kMargin, untouched) &&
           std::all_of(room.end() - kMargin, room.end(), untouched);
  }
  static constexpr size_t kMargin = 64;
  Bytes room;
  size_t bytes;
};

TEST_F(EffectsTest, ReadWordBringsTheWord) {
  Chain chain;
  chain.ReadWord(at_ + 16);
  chain.ReadWord(at_);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(chain.work[0].result, WordOf(content_, 2));
  EXPECT_EQ(chain.work[1].result, WordOf(content_, 0));
}

TEST_F(EffectsTest, ReadIntoTheScratch) {
  for (const uint32_t local : {0u, 1u, 24u}) {
    Guarded buffer(104);
    Chain chain;
    chain.scratch = buffer.data() - local;
    chain.Read(at_ + 8, 104, local);
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
    EXPECT_TRUE(Same(buffer.inside(), Content(8, 104)));
    EXPECT_EQ(chain.work[0].data, buffer.data());
    EXPECT_TRUE(buffer.intact());
  }
}

TEST_F(EffectsTest, ReadIntoASinkLeavesTheScratchAlone) {
  Guarded scratch(64);
  Guarded sink(40);
  Chain chain;
  chain.scratch = scratch.data();
  chain.Read(at_ + 80, 40, 0).sink = sink.data();
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_TRUE(Same(sink.inside(), Content(80, 40)));
  EXPECT_EQ(chain.work[0].data, sink.data());
  EXPECT_TRUE(sink.intact());
  EXPECT_TRUE(Same(scratch.inside(), Bytes(64, kGuard)));
}

TEST_F(EffectsTest, ReadByReferenceShowsTheBytesWhereDataPoints) {
  Guarded scratch(200);
  Chain chain;
  chain.scratch = scratch.data();
  chain.ReadByReference(at_ + 64, 96, 0);
  chain.ReadByReference(at_ + 8, 104, 96);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  ASSERT_NE(chain.work[0].data, nullptr);
  EXPECT_TRUE(Same({chain.work[0].data, 96}, Content(64, 96)));
  ASSERT_NE(chain.work[1].data, nullptr);
  EXPECT_TRUE(Same({chain.work[1].data, 104}, Content(8, 104)));
  EXPECT_TRUE(scratch.intact());
}

TEST_F(EffectsTest, ReadOfAnyBeginAndLength) {
  for (const uint32_t from : {0u, 1u, 3u, 7u, 8u, 13u}) {
    for (const uint32_t bytes : {1u, 2u, 5u, 7u, 8u, 9u, 31u, 100u}) {
      Guarded sink(bytes);
      Chain chain;
      chain.Read(at_ + from, bytes, 0).sink = sink.data();
      ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
      EXPECT_TRUE(Same(sink.inside(), Content(from, bytes))) << bytes << " bytes from " << from;
      EXPECT_TRUE(sink.intact()) << bytes << " bytes from " << from;
    }
  }
}

TEST_F(EffectsTest, ReadChangesNothing) {
  Bytes sink(kRoom);
  Chain chain;
  chain.Read(at_, kRoom, 0).sink = sink.data();
  chain.ReadWord(at_);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(Fetch(channel(), at_, kRoom), content_);
}

TEST_F(EffectsTest, WriteOfScratchThenTailAndNothingBeside) {
  Bytes scratch = Pattern(64, 11);
  const Bytes tail = Pattern(64, 12);
  for (const uint32_t from : {8u, 11u}) {
    for (const auto& [head, rest] :
         {std::pair(24u, 13u), {0u, 40u}, {40u, 0u}, {7u, 1u}, {1u, 64u}, {8u, 56u}}) {
      Store(channel(), at_, content_);
      Chain chain;
      chain.scratch = scratch.data();
      chain.Write(at_ + from, 0, head, tail.data(), rest);
      ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
      Bytes expected = content_;
      std::copy_n(scratch.begin(), head, expected.begin() + from);
      std::copy_n(tail.begin(), rest, expected.begin() + from + head);
      EXPECT_EQ(Fetch(channel(), at_, kRoom), expected)
          << head << " + " << rest << " bytes at " << from;
    }
  }
}

TEST_F(EffectsTest, WriteOfTheScratchFromLocalOn) {
  Bytes scratch = Pattern(128, 13);
  Chain chain;
  chain.scratch = scratch.data();
  chain.Write(at_, 40, 24, nullptr, 0);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_TRUE(Same(Fetch(channel(), at_, 24), std::span(scratch).subspan(40, 24)));
}

TEST_F(EffectsTest, VerbsOfNoBytesAreAllowedAndDoNothing) {
  Guarded scratch(8);
  Chain chain;
  chain.scratch = scratch.data();
  chain.Read(at_, 0, 0).sink = scratch.data();
  chain.Write(at_ + 8, 0, 0, nullptr, 0);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(chain.work[0].data, scratch.data());
  // Alone, too, of each kind.
  Chain read_alone, write_alone, several;
  read_alone.Read(at_, 0, 0).sink = scratch.data();
  write_alone.Write(at_, 0, 0, nullptr, 0);
  for (uint32_t i = 0; i < kMaxWorks; ++i) several.Write(at_ + i, 0, 0, nullptr, 0);
  for (Chain* each : {&read_alone, &write_alone, &several}) {
    ASSERT_EQ(Carry(channel(), *each), ChainOutcome::kDone) << channel().broken();
  }
  Chain mixed;
  mixed.scratch = scratch.data();
  mixed.Read(at_ + 3, 0, 0);
  mixed.ReadWord(at_ + 24);
  mixed.Write(at_ + 8, 0, 0, nullptr, 0);
  mixed.Read(seat_->region_bytes(), 0, 0);
  ASSERT_EQ(Carry(channel(), mixed), ChainOutcome::kDone);
  EXPECT_EQ(mixed.work[1].result, WordOf(content_, 3));
  EXPECT_TRUE(scratch.intact());
  EXPECT_EQ(Fetch(channel(), at_, kRoom), content_);
}

TEST_F(EffectsTest, CompareSwapThatFindsWhatItExpects) {
  StoreWordAt(channel(), at_, 5);
  Chain chain;
  chain.CompareSwap(at_, 5, ~uint64_t{0});
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(chain.work[0].result, 5u);
  EXPECT_TRUE(chain.Swapped(0));
  EXPECT_EQ(FetchWord(channel(), at_), ~uint64_t{0});
  EXPECT_EQ(FetchWord(channel(), at_ + 8), WordOf(content_, 1));
}

TEST_F(EffectsTest, CompareSwapThatFindsAnotherWordBringsItAndChangesNothing) {
  // Each differs from what is found in one half only.
  const uint64_t found = 0x1122334455667788;
  StoreWordAt(channel(), at_, found);
  for (const uint64_t expected : {uint64_t{0}, found ^ 1, found ^ uint64_t{1} << 63, ~found}) {
    Chain chain;
    chain.CompareSwap(at_, expected, 99);
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
    EXPECT_EQ(chain.work[0].result, found);
    EXPECT_FALSE(chain.Swapped(0));
    EXPECT_EQ(FetchWord(channel(), at_), found);
  }
}

TEST_F(EffectsTest, FetchAddBringsTheWordBeforeAndWraps) {
  StoreWordAt(channel(), at_, ~uint64_t{0} - 1);
  for (const auto& [delta, before, after] :
       {std::tuple<uint64_t, uint64_t, uint64_t>{1, ~uint64_t{0} - 1, ~uint64_t{0}},
        {3, ~uint64_t{0}, 2},
        {0, 2, 2},
        {uint64_t{1} << 32, 2, (uint64_t{1} << 32) + 2}}) {
    Chain chain;
    chain.FetchAdd(at_, delta);
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
    EXPECT_EQ(chain.work[0].result, before);
    EXPECT_EQ(FetchWord(channel(), at_), after);
  }
  EXPECT_EQ(FetchWord(channel(), at_ + 8), WordOf(content_, 1)) << "a carry left the word";
}

TEST_F(EffectsTest, VerbsOfOneChainTakeEffectInOrder) {
  StoreWordAt(channel(), at_, 10);
  const uint64_t a = 1, b = 2;
  Bytes sink(8);
  Chain chain;
  chain.CompareSwap(at_, 10, 20);                                         // 0: 10
  chain.CompareSwap(at_, 20, 30);                                         // 1: 20
  chain.CompareSwap(at_, 20, 40);                                         // 2: 30
  chain.FetchAdd(at_, 5);                                                 // 3: 30
  chain.ReadWord(at_);                                                    // 4: 35
  chain.Write(at_ + 8, 0, 0, std::as_bytes(std::span(&a, 1)).data(), 8);  // 5
  chain.Write(at_ + 8, 0, 0, std::as_bytes(std::span(&b, 1)).data(), 8);  // 6
  chain.Read(at_ + 8, 8, 0).sink = sink.data();                           // 7: 2
  ASSERT_EQ(chain.count, kMaxWorks);
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(chain.work[0].result, 10u);
  EXPECT_EQ(chain.work[1].result, 20u);
  EXPECT_EQ(chain.work[2].result, 30u);
  EXPECT_EQ(chain.work[3].result, 30u);
  EXPECT_EQ(chain.work[4].result, 35u);
  EXPECT_EQ(WordOf(sink, 0), 2u);
  EXPECT_EQ(FetchWord(channel(), at_), 35u);
}

TEST_F(EffectsTest, AChainMayBePostedAgain) {
  StoreWordAt(channel(), at_, 0);
  Chain chain;
  chain.cookie = 0xC00C1E;
  chain.FetchAdd(at_, 1);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
    ASSERT_EQ(chain.work[0].result, i);
    ASSERT_EQ(chain.cookie, 0xC00C1Eu);
  }
}

// What the caller filled in is as it was: a caller may look at it again.
TEST_F(EffectsTest, WhatWasAskedForIsLeftAsItWas) {
  StoreWordAt(channel(), at_, 1);
  Bytes scratch = Pattern(32, 1);
  const Bytes before = scratch;
  const Bytes tail = Pattern(16, 2);
  Chain chain;
  chain.scratch = scratch.data();
  chain.Write(at_ + 64, 0, 32, tail.data(), 16);
  chain.CompareSwap(at_, 1, 2);
  const Chain asked = chain;
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_EQ(scratch, before);
  EXPECT_EQ(chain.count, asked.count);
  EXPECT_EQ(chain.writes, asked.writes);
  EXPECT_EQ(chain.atomics, asked.atomics);
  for (uint32_t i = 0; i < chain.count; ++i) {
    EXPECT_EQ(chain.work[i].verb, asked.work[i].verb);
    EXPECT_EQ(chain.work[i].remote, asked.work[i].remote);
    EXPECT_EQ(chain.work[i].length, asked.work[i].length);
    EXPECT_EQ(chain.work[i].tail_length, asked.work[i].tail_length);
    EXPECT_EQ(chain.work[i].local, asked.work[i].local);
    EXPECT_EQ(chain.work[i].compare, asked.work[i].compare);
    EXPECT_EQ(chain.work[i].swap, asked.work[i].swap);
  }
}

// Two buckets of eight words at the beginning of the room, the rest a heap.
TEST_F(EffectsTest, AWishToFollowIsGrantedWhollyOrNotAtAll) {
  constexpr uint64_t kHeap = 128;
  constexpr uint32_t kFingerprint = 9;
  Bytes buckets(kHeap, std::byte{0});
  const SizeClass small = ClassFor(48);
  SetPlainWord(buckets.data() + 16, SlotWord::Make(256, small, kFingerprint, 1).raw());
  SetPlainWord(buckets.data() + 24, SlotWord::Make(512, small, kFingerprint + 1, 1).raw());
  SetPlainWord(buckets.data() + 72, SlotWord::Make(64, small, kFingerprint, 1).raw());
  Store(channel(), at_, buckets);
  Guarded scratch(1024);
  Chain chain;
  chain.scratch = scratch.data();
  chain.Read(at_, 64, 0);
  chain.Read(at_ + 64, 64, 64);
  chain.follow = {true, kFingerprint, 128, 32, 512, 128, at_ + kHeap, kRoom - kHeap, {}};
  ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(Same(scratch.inside().first(kHeap), buckets));
  EXPECT_EQ(chain.follow.wanted, traits().follows);
  EXPECT_EQ(chain.count, traits().follows ? 4u : 2u);
  const uint64_t offsets[] = {256, 64};
  for (uint32_t i = 2; i < chain.count; ++i) {
    const Work& work = chain.work[i];
    EXPECT_EQ(work.remote, at_ + kHeap + offsets[i - 2]);
    ASSERT_EQ(work.length, BlockBytes(small));
    EXPECT_EQ(work.data, scratch.data() + 512 + (i - 2) * 128);
    EXPECT_TRUE(Same({work.data, work.length}, Content(kHeap + offsets[i - 2], BlockBytes(small))));
  }
}

// Three slots a bucket, the first one's lock in front; a key that is there, then one that is not.
TEST_F(EffectsTest, AWishToSwingIsGrantedWhollyOrNotAtAll) {
  constexpr uint64_t kHeap = 64;
  constexpr uint32_t kFingerprint = 9;
  const BucketHeader free = BucketHeader::Free(0, 0);
  const BucketHeader held = free.HeldBy(3, 1);
  const SlotWord old = SlotWord::Make(256, ClassFor(48), kFingerprint, 1);
  const SlotWord mine = SlotWord::Make(512, ClassFor(48), kFingerprint, 7);
  Bytes buckets(kHeap, std::byte{0});
  SetPlainWord(buckets.data(), free.raw());
  SetPlainWord(buckets.data() + 8, SlotWord::Make(64, ClassFor(48), kFingerprint + 1, 1).raw());
  SetPlainWord(buckets.data() + 32, free.raw());
  SetPlainWord(buckets.data() + 48, old.raw());
  Store(channel(), at_, buckets);
  Bytes record(48, std::byte{0});
  SetPlainWord(record.data(), RecordHeader::Make(1, true, false, 3, 5).raw());
  std::memcpy(record.data() + kRecordPrefixBytes, "keyvalue", 8);
  Store(channel(), at_ + kHeap + old.heap_offset(), record);
  for (const char* key : {"key", "abc"}) {
    const bool present = key == std::string_view("key");
    Guarded scratch(1024);
    Chain chain;
    chain.scratch = scratch.data();
    chain.CompareSwap(at_, free.raw(), held.raw());
    chain.Read(at_, 32, 0);
    chain.Read(at_ + 32, 32, 32);
    chain.follow = {true, kFingerprint, 128, 40, 512, 128, at_ + kHeap, kRoom - kHeap, {}};
    chain.follow.swing = {true, true, 3, reinterpret_cast<const std::byte*>(key), mine.raw()};
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone);
    EXPECT_TRUE(scratch.intact());
    ASSERT_EQ(chain.follow.wanted, traits().follows);
    if (!traits().follows) {
      ASSERT_EQ(chain.count, 3u);
      continue;
    }
    // The key that is there: its slot; else one of the emptier bucket.
    ASSERT_EQ(chain.count, present ? 6u : 5u);
    ASSERT_EQ(chain.swung, 2u);
    const Work& swing = chain.work[chain.count - 2];
    EXPECT_EQ(swing.remote, present ? at_ + 48 : at_ + 16);
    EXPECT_EQ(swing.compare, present ? old.raw() : 0u);
    EXPECT_EQ(swing.result, swing.compare);
    EXPECT_EQ(chain.work[chain.count - 1].result, held.raw());
    EXPECT_EQ(FetchWord(channel(), swing.remote), mine.raw());
    EXPECT_EQ(FetchWord(channel(), at_), free.raw());
    // Not in the way of the other key.
    SetPlainWord(buckets.data() + 48, 0);
    SetPlainWord(buckets.data() + 40, SlotWord::Make(64, ClassFor(48), 1, 1).raw());
    Store(channel(), at_, buckets);
  }
}

}  // namespace
}  // namespace dunlin::testing
