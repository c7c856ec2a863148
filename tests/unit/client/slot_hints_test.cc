#include "client/session/slot_hints.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

Geometry SomeGeometry() {
  Geometry g;
  g.bucket_mask = 63;
  return g;
}

SlotWord WordAt(uint64_t heap_offset) { return SlotWord::Make(heap_offset, 10, 3, 5); }

class SlotHintsTest : public ::testing::Test {
 protected:
  void Remember(uint64_t hash, uint32_t bucket, uint32_t slot, SlotWord word) {
    hints_.Remember(hash, place_, g_, g_.SlotAddress(place_.bucket[bucket], slot), word);
  }
  // Keys of one line, as one line is all there is.
  static uint64_t HashOf(uint64_t tag, uint64_t home = 0) { return tag << 48 | home << 45; }

  const Geometry g_ = SomeGeometry();
  const Placement place_{{4096, 8192}, BucketHeader::Free(0, 0)};
  SlotHints hints_{64};
};

TEST_F(SlotHintsTest, SayWhereTheRecordIs) {
  EXPECT_EQ(hints_.Find(HashOf(7)), nullptr);
  for (uint32_t bucket : {0u, 1u}) {
    for (uint32_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      const SlotWord word = WordAt(SlotWord::kHeapLimit - 8 - slot * 104);
      Remember(HashOf(7), bucket, slot, word);
      const SlotHint* const hint = hints_.Find(HashOf(7));
      ASSERT_NE(hint, nullptr);
      EXPECT_EQ(hint->bucket(), bucket);
      EXPECT_EQ(hint->slot(), slot);
      EXPECT_EQ(hint->block(), SlotHint::BlockOf(word));
      EXPECT_EQ(hint->block().heap_offset(), word.heap_offset());
      EXPECT_EQ(hint->block().size_class(), word.size_class());
      EXPECT_EQ(hints_.Find(HashOf(8)), nullptr);
    }
  }
  hints_.Forget(HashOf(8));
  EXPECT_NE(hints_.Find(HashOf(7)), nullptr);
  hints_.Forget(HashOf(7));
  EXPECT_EQ(hints_.Find(HashOf(7)), nullptr);
}

TEST_F(SlotHintsTest, RenewedOnesNameTheSameSlot) {
  Remember(HashOf(0), 1, 14, WordAt(104));
  hints_.Find(HashOf(0))->Renew(WordAt(208));
  EXPECT_EQ(hints_.Find(HashOf(0))->block().heap_offset(), 208u);
  EXPECT_EQ(hints_.Find(HashOf(0))->bucket(), 1u);
  EXPECT_EQ(hints_.Find(HashOf(0))->slot(), 14u);
}

TEST_F(SlotHintsTest, EightKeysShareALineWhateverTheirHome) {
  for (uint64_t tag = 0; tag < 8; ++tag) Remember(HashOf(tag, 6), 0, 1, WordAt(104 * (tag + 1)));
  for (uint64_t tag = 0; tag < 8; ++tag) {
    ASSERT_NE(hints_.Find(HashOf(tag, 6)), nullptr) << tag;
    EXPECT_EQ(hints_.Find(HashOf(tag, 6))->block().heap_offset(), 104 * (tag + 1));
  }
  // The ninth takes the place of the one at its home.
  Remember(HashOf(8, 6), 0, 1, WordAt(104));
  EXPECT_EQ(hints_.Find(HashOf(0, 6)), nullptr);
  for (uint64_t tag = 1; tag < 9; ++tag) EXPECT_NE(hints_.Find(HashOf(tag, 6)), nullptr) << tag;
  // What is free between others is used again, and hides none of them.
  hints_.Forget(HashOf(3, 6));
  EXPECT_NE(hints_.Find(HashOf(7, 6)), nullptr);
  Remember(HashOf(7, 6), 0, 2, WordAt(104));
  Remember(HashOf(9, 6), 0, 2, WordAt(104));
  for (uint64_t tag : {1, 2, 4, 5, 6, 7, 8, 9}) EXPECT_NE(hints_.Find(HashOf(tag, 6)), nullptr);
}

// Where a directory was replaced meanwhile, the slot is none of the key's.
TEST_F(SlotHintsTest, ForgetWhatWasFoundElsewhere) {
  Remember(HashOf(7), 0, 1, WordAt(104));
  hints_.Remember(HashOf(7), place_, g_, 512, WordAt(104));
  EXPECT_EQ(hints_.Find(HashOf(7)), nullptr);
  Remember(HashOf(7), 0, kSlotsPerBucket, WordAt(104));
  EXPECT_EQ(hints_.Find(HashOf(7)), nullptr);
}

TEST_F(SlotHintsTest, AreNoneWithoutALine) {
  SlotHints none(63);
  none.Prefetch(1);
  none.Remember(1, place_, g_, g_.SlotAddress(4096, 0), WordAt(104));
  none.Forget(1);
  none.Clear();
  EXPECT_EQ(none.Find(1), nullptr);
}

TEST_F(SlotHintsTest, UseAllOfAnySize) {
  SlotHints hints(64 * 3);
  for (uint64_t third = 0; third < 3; ++third) {
    for (uint64_t tag = 0; tag < 8; ++tag) {
      hints.Remember(HashOf(tag) | third * 0x60000000, place_, g_, g_.SlotAddress(4096, 0),
                     WordAt(104));
    }
  }
  for (uint64_t third = 0; third < 3; ++third) {
    for (uint64_t tag = 0; tag < 8; ++tag) {
      EXPECT_NE(hints.Find(HashOf(tag) | third * 0x60000000), nullptr);
    }
  }
  hints.Clear();
  EXPECT_EQ(hints.Find(HashOf(7)), nullptr);
}

}  // namespace
}  // namespace dunlin
