#include "common/fabric/follow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/chain_frames.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"
#include "tests/unit/fabric/chain_frames_testing.h"

namespace dunlin {
namespace {

using testing::Bytes;
using testing::Compose;
using testing::RandomBytes;
using testing::Serve;

constexpr uint64_t kRegionBytes = uint64_t{4} << 20;

// Two buckets of four words, then a heap.
class FollowTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kHeap = 256;
  static constexpr uint64_t kHeapBytes = kRegionBytes - kHeap;
  static constexpr uint32_t kBucketBytes = 64;
  static constexpr uint32_t kFingerprint = 77;
  static constexpr SizeClass kSmall = 13;

  FollowTest() : region_(kRegionBytes), scratch_(8192) {
    Random random(5);
    region_ = RandomBytes(random, kRegionBytes);
    std::fill_n(region_.begin(), 2 * kBucketBytes, std::byte{0});
    chain_.scratch = scratch_.data();
    chain_.Read(0, kBucketBytes, 0);
    chain_.Read(kBucketBytes, kBucketBytes, kBucketBytes);
    chain_.follow = {true, kFingerprint, 1024, 40, 512, 1024, kHeap, kHeapBytes, {}};
  }

  void SetSlot(uint32_t bucket, uint32_t slot, SlotWord word) {
    SetPlainWord(region_.data() + bucket * kBucketBytes + 8 + 8 * slot, word.raw());
  }
  static SlotWord Word(uint64_t offset, SizeClass size_class = kSmall,
                       uint32_t fingerprint = kFingerprint) {
    return SlotWord::Make(offset, size_class, fingerprint, 3);
  }
  // Has the chain carried out. Each: offset in the heap and length.
  std::vector<std::pair<uint64_t, uint32_t>> Carry() {
    EXPECT_TRUE(MayFollow(chain_, kRegionBytes));
    reply_ = Serve(Compose(chain_), region_);
    EXPECT_EQ(ApplyChainReply(chain_, 0, reply_), "");
    std::vector<std::pair<uint64_t, uint32_t>> read;
    for (uint32_t i = 2; i < chain_.count; ++i) {
      const Work& work = chain_.work[i];
      EXPECT_EQ(work.data, scratch_.data() + 512 + (i - 2) * 1024);
      EXPECT_TRUE(std::equal(work.data, work.data + work.length, region_.data() + work.remote));
      read.emplace_back(work.remote - kHeap, work.length);
    }
    return read;
  }

  Bytes region_;
  Bytes scratch_;
  Bytes reply_;
  Chain chain_;
};

using Reads = std::vector<std::pair<uint64_t, uint32_t>>;

TEST_F(FollowTest, ReadsWhatTheSlotsOfTheFingerprintName) {
  SetSlot(0, 1, Word(800));
  SetSlot(0, 2, Word(1600, kSmall, kFingerprint + 1));
  SetSlot(1, 0, Word(2400));
  SetSlot(1, 3, SlotWord::Moved());
  EXPECT_EQ(Carry(), (Reads{{800, 128}, {2400, 128}}));
}

TEST_F(FollowTest, NothingWhereNothingFits) {
  SetSlot(0, 0, Word(800, kSmall, kFingerprint ^ 1));
  EXPECT_EQ(Carry(), Reads{});
  EXPECT_EQ(reply_.size(), sizeof(ChainReply) + 2 * kBucketBytes);
}

TEST_F(FollowTest, LongBlocksAndRunsSoFarAsTheirHeads) {
  SetSlot(0, 0, Word(0, kRunClass));
  SetSlot(0, 1, Word(4096, ClassFor(2000)));
  EXPECT_EQ(Carry(), (Reads{{0, 40}, {4096, 40}}));
}

TEST_F(FollowTest, FourAtMostAndNoneOutsideTheHeap) {
  SetSlot(0, 0, Word(kHeapBytes - 120));
  for (uint32_t s = 1; s < 6; ++s) SetSlot(0, s, Word(200 * s));
  EXPECT_EQ(Carry(), (Reads{{200, 128}, {400, 128}, {600, 128}, {800, 128}}));
}

TEST_F(FollowTest, NoHeadReachesBeyondTheHeap) {
  chain_.follow.head_bytes = 8000;
  const uint64_t at = (kHeapBytes - kPageBytes) / 8 * 8;
  SetSlot(0, 0, Word(at, kRunClass));
  EXPECT_EQ(Carry(), (Reads{{at, static_cast<uint32_t>(kHeapBytes - at)}}));
}

TEST_F(FollowTest, AReplyOfAnotherLengthIsRefused) {
  SetSlot(0, 1, Word(800));
  const Bytes reply = Serve(Compose(chain_), region_);
  for (size_t bytes = 0; bytes < reply.size(); ++bytes) {
    EXPECT_NE(ApplyChainReply(chain_, 0, std::span(reply).first(bytes)), "") << bytes;
    ASSERT_EQ(chain_.count, 2u);
  }
  Bytes longer = reply;
  longer.push_back(std::byte{0});
  EXPECT_NE(ApplyChainReply(chain_, 0, longer), "");
}

TEST_F(FollowTest, GoesBehindAWriteOfManyParts) {
  Bytes value(3 * kMaxChainBody, std::byte{7});
  Bytes big(4 * kMaxChainBody);
  std::copy(region_.begin(), region_.begin() + 2 * kBucketBytes, big.begin());
  SetPlainWord(big.data() + 8, Word(800).raw());
  Chain chain;
  chain.scratch = scratch_.data();
  chain.Write(8192, 0, 0, value.data(), static_cast<uint32_t>(value.size()));
  chain.Read(0, kBucketBytes, 0);
  chain.Read(kBucketBytes, kBucketBytes, kBucketBytes);
  chain.follow = chain_.follow;
  ASSERT_EQ(ApplyChainReply(chain, 0, Serve(Compose(chain), big)), "");
  ASSERT_EQ(chain.count, 4u);
  EXPECT_EQ(chain.work[3].length, 128u);
}

// The first bucket's lock in front; the record goes to where `mine_` says.
class SwingTest : public FollowTest {
 protected:
  static constexpr uint32_t kKeyBytes = 20;

  SwingTest() {
    chain_.Clear();
    SetPlainWord(region_.data(), free_.raw());
    SetPlainWord(region_.data() + kBucketBytes, free_.raw());
    chain_.Write(kHeap + mine_.heap_offset(), 0, 0, value_.data(), 40);
    chain_.CompareSwap(0, free_.raw(), held_.raw());
    chain_.Read(0, kBucketBytes, 0);
    chain_.Read(kBucketBytes, kBucketBytes, kBucketBytes);
    chain_.follow.wanted = true;
    chain_.follow.head_bytes = kMaxRecordHead + kKeyBytes;
    chain_.follow.whole_bytes = 0;
    chain_.follow.swing = {true, true, kKeyBytes, key_.data(), mine_.raw()};
  }
  void SetRecord(SlotWord word, std::byte key) {
    std::byte* const at = region_.data() + kHeap + word.heap_offset();
    SetPlainWord(at, RecordHeader::Make(word.generation(), true, false, kKeyBytes, 9).raw());
    std::fill_n(at + kRecordPrefixBytes, kKeyBytes, key);
  }
  uint64_t WordOf(uint32_t bucket, uint32_t slot) const {
    return PlainWord(region_.data() + bucket * kBucketBytes + 8 + 8 * slot);
  }
  // How many CASes were done along.
  uint32_t Swing() {
    EXPECT_TRUE(MayFollow(chain_, kRegionBytes));
    reply_ = Serve(Compose(chain_), region_);
    EXPECT_EQ(ApplyChainReply(chain_, 0, reply_), "");
    EXPECT_EQ(PlainWord(region_.data()), LockAfter());
    for (uint32_t i = chain_.count - chain_.swung; i < chain_.count; ++i) {
      EXPECT_TRUE(chain_.Swapped(i));
    }
    return chain_.swung;
  }
  uint64_t LockAfter() const {
    return chain_.Swapped(1) && chain_.swung == 0 ? held_.raw() : lock_before_;
  }

  const BucketHeader free_ = BucketHeader::Free(0, 0);
  const BucketHeader held_ = free_.HeldBy(7, 2);
  uint64_t lock_before_ = free_.raw();
  const SlotWord mine_ = Word(6400);
  const Bytes key_ = Bytes(kKeyBytes, std::byte{'k'});
  const Bytes value_ = Bytes(40, std::byte{1});
};

TEST_F(SwingTest, TheSlotOfTheKey) {
  SetSlot(0, 2, Word(800));
  SetRecord(Word(800), std::byte{'x'});
  SetSlot(1, 1, Word(1600));
  SetRecord(Word(1600), std::byte{'k'});
  EXPECT_EQ(Swing(), 2u);
  EXPECT_EQ(WordOf(1, 1), mine_.raw());
  EXPECT_EQ(WordOf(0, 2), Word(800).raw());
}

TEST_F(SwingTest, AFreeSlotOfTheEmptierBucket) {
  SetSlot(0, 2, Word(800));
  SetRecord(Word(800), std::byte{'x'});
  EXPECT_EQ(Swing(), 2u);
  EXPECT_EQ(WordOf(1, 0), mine_.raw());
}

TEST_F(SwingTest, NoFreeSlotWhileAnotherHoldsTheLock) {
  lock_before_ = free_.HeldBy(8, 1).raw();
  SetPlainWord(region_.data(), lock_before_);
  EXPECT_EQ(Swing(), 0u);
  EXPECT_EQ(WordOf(0, 0), 0u);
  EXPECT_EQ(WordOf(1, 0), 0u);
}

TEST_F(SwingTest, TheSlotOfTheKeyWhoeverHoldsTheLock) {
  lock_before_ = free_.HeldBy(8, 1).raw();
  SetPlainWord(region_.data(), lock_before_);
  SetSlot(1, 1, Word(1600));
  SetRecord(Word(1600), std::byte{'k'});
  EXPECT_EQ(Swing(), 1u);
  EXPECT_EQ(WordOf(1, 1), mine_.raw());
}

TEST_F(SwingTest, NothingBesideATornRecord) {
  SetSlot(0, 2, Word(800));
  SetRecord(SlotWord::Make(800, kSmall, kFingerprint, 4), std::byte{'x'});
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, NothingThatIsFrozen) {
  SetSlot(1, 1, Word(1600).Frozen());
  SetRecord(Word(1600), std::byte{'k'});
  EXPECT_EQ(Swing(), 0u);
  EXPECT_EQ(WordOf(1, 1), Word(1600).Frozen().raw());
}

TEST_F(SwingTest, NoFreeSlotBesideMovedOrDamagedOnes) {
  SetSlot(0, 3, SlotWord::Moved());
  EXPECT_EQ(Swing(), 0u);
  chain_.count = 4;
  chain_.followed = 0;
  SetPlainWord(region_.data(), free_.raw());
  SetSlot(0, 3, Word(kHeapBytes - 8));
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, NothingInBucketsOfAnotherIdentity) {
  SetSlot(1, 1, Word(1600));
  SetRecord(Word(1600), std::byte{'k'});
  SetPlainWord(region_.data() + kBucketBytes, BucketHeader::Free(1, 1).raw());
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, NoFreeSlotWithMoreCandidatesThanAreRead) {
  for (uint32_t s = 0; s < 5; ++s) {
    SetSlot(0, s, Word(800 * (s + 1)));
    SetRecord(Word(800 * (s + 1)), std::byte{'x'});
  }
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, NothingWhereBothAreFull) {
  for (uint32_t s = 0; s < 7; ++s) {
    SetSlot(0, s, Word(800, kSmall, kFingerprint + 1));
    SetSlot(1, s, Word(800, kSmall, kFingerprint + 1));
  }
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, OnlyAFreeSlotIfNothingIsToBeReplaced) {
  chain_.follow.swing.replaces = false;
  SetSlot(1, 1, Word(1600));
  SetRecord(Word(1600), std::byte{'k'});
  EXPECT_EQ(Swing(), 0u);
}

TEST_F(SwingTest, AReplyOfAnotherLengthIsRefused) {
  SetSlot(1, 1, Word(1600));
  SetRecord(Word(1600), std::byte{'k'});
  const Bytes reply = Serve(Compose(chain_), region_);
  for (size_t bytes = 0; bytes < reply.size(); ++bytes) {
    EXPECT_NE(ApplyChainReply(chain_, 0, std::span(reply).first(bytes)), "") << bytes;
    ASSERT_EQ(chain_.count, 4u);
    ASSERT_EQ(chain_.swung, 0u);
  }
}

}  // namespace
}  // namespace dunlin
