#include "server/index/slot_finder.h"

#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

class SlotFinderTest : public CoreFixture {
 protected:
  SlotFinderTest() : region_(base_.get(), plan_) {
    Blocks(100, 4);
    blocks_ = std::move(taken_);
  }
  void Blocks(uint32_t bytes, uint32_t count) {
    const auto result = Take(Open(), bytes, count);
    ASSERT_EQ(result.words.size(), count);
    for (uint64_t word : result.words) taken_.push_back(*pool().Find(SlotWord(word)));
  }
  std::optional<FoundSlot> Find(BlockRef block) const {
    return FindSlot(region_, core_->index(), pool(), block);
  }

  RegionView region_;
  std::vector<BlockRef> taken_;
  std::vector<BlockRef> blocks_;
};

TEST_F(SlotFinderTest, FindsARecordInAnySlotOfEitherBucket) {
  const SlotWord word = Write(blocks_[0].word().raw(), "some key");
  EXPECT_FALSE(Find(blocks_[0])) << "not linked";
  for (uint64_t bucket : PlaceOf("some key").bucket) {
    for (uint32_t s : {0u, 7u, kSlotsPerBucket - 1}) {
      const uint64_t slot = geometry_.SlotAddress(bucket, s);
      for (SlotWord linked : {word, word.Frozen()}) {
        Link(slot, linked.raw());
        const std::optional<FoundSlot> found = Find(blocks_[0]);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->address, slot);
        EXPECT_EQ(found->word, linked);
      }
      Link(slot, 0);
    }
  }
}

TEST_F(SlotFinderTest, AfterASplitItLooksWhereTheKeyIsNow) {
  std::vector<BlockRef> linked;
  uint32_t count = 0;
  // To above the load at which Ask has a subtable split.
  while (linked.size() < 7000) {
    taken_.clear();
    Blocks(48, 100);
    for (BlockRef block : taken_) {
      ASSERT_NE(WriteAndLink(block.word().raw(), "key" + std::to_string(count++), ""), 0u);
      linked.push_back(block);
    }
    for (const auto& [id, session] : core_->sessions().all()) {
      ASSERT_TRUE(core_->Resolve(id, 1));
      core_->EndSession(id);
      break;
    }
  }
  ASSERT_EQ(core_->AskGrow(0, 0), GrowOutcome::kGrows);
  Settle();
  ASSERT_GT(core_->index().subtables(), 1u);
  for (BlockRef block : linked) {
    const std::optional<FoundSlot> found = Find(block);
    ASSERT_TRUE(found);
    EXPECT_TRUE(SlotWord(LoadWord(At(found->address))).SameRecord(found->word));
  }
}

TEST_F(SlotFinderTest, OtherGenerationsFingerprintsAndBlocksAreNoLink) {
  const SlotWord word = Write(blocks_[0].word().raw(), "some key");
  const uint64_t bucket = PlaceOf("some key").bucket[0];
  const uint64_t slot = geometry_.SlotAddress(bucket, 3);
  const BlockRef block = blocks_[0];
  for (SlotWord other :
       {word.WithFingerprint(word.fingerprint() ^ 1),
        SlotWord::Make(block.heap_offset(), block.size_class(), word.fingerprint(),
                       word.generation() + 1),
        SlotWord::Make(block.heap_offset(), block.size_class() + 1, word.fingerprint(),
                       word.generation()),
        blocks_[1].word().WithFingerprint(word.fingerprint()), SlotWord::Moved()}) {
    Link(slot, other.raw());
    EXPECT_FALSE(Find(block));
  }
  // In a bucket where no reader of the key looks.
  Link(slot, 0);
  const uint64_t elsewhere =
      plan_.index_offset + (bucket - plan_.index_offset + kBucketBytes) % plan_.index_bytes;
  if (elsewhere != PlaceOf("some key").bucket[1]) {
    Link(geometry_.SlotAddress(elsewhere, 0), word.raw());
    EXPECT_FALSE(Find(block));
  }
}

TEST_F(SlotFinderTest, BelievesNothingOfWhatLiesInABlock) {
  const BlockRef block = blocks_[0];
  const SlotWord word = Write(block.word().raw(), "some key");
  ASSERT_NE(LinkKey("some key", word), 0u);
  ASSERT_TRUE(Find(block));
  std::byte* record = base_.get() + geometry_.RecordAddress(word);
  const uint64_t header = LoadWord(record);
  const RecordHeader good(header);
  const uint64_t hostile[] = {
      0,
      ~uint64_t{0},
      header ^ 1,
      header | RecordHeader::kReservedMask,
      RecordHeader::Make(good.generation(), true, false, 0, 8).raw(),
      RecordHeader::Make(good.generation(), true, false, 65535, 8).raw(),
      RecordHeader::Make(good.generation(), true, false, 8, 0xFFFFFFFF).raw(),
      RecordHeader::Make(good.generation(), true, true, 8, 69).raw(),  // 1 more than fits
  };
  for (uint64_t raw : hostile) {
    StoreWord(record, raw);
    EXPECT_FALSE(Find(block)) << std::hex << raw;
  }
  StoreWord(record, header);
  EXPECT_TRUE(Find(block));
  core_->ReturnBlock(word);
  EXPECT_FALSE(Find(block)) << "no longer allocated";
}

TEST_F(SlotFinderTest, SeesTheExpiry) {
  const uint64_t bytes = BlockBytes(ClassFor(100));
  const SlotWord word = Write(blocks_[0].word().raw(), "some key", "v", 4711);
  std::optional<RecordSight> sight = SeeRecord(region_, word, bytes);
  ASSERT_TRUE(sight);
  EXPECT_EQ(sight->expiry, 4711u);
  EXPECT_EQ(AsText(sight->key()), "some key");
  Write(blocks_[0].word().raw(), "some key", "v");
  sight = SeeRecord(region_, word, bytes);
  ASSERT_TRUE(sight);
  EXPECT_EQ(sight->expiry, 0u);
  const BlockRef run = *pool().Find(SlotWord(Take(Open(), 100'000, 1).words.at(0)));
  const SlotWord large = Write(run.word().raw(), "large", std::string(99'000, 'x'));
  EXPECT_TRUE(SeeRecord(region_, large, pool().BytesOf(run)));
  ASSERT_NE(LinkKey("large", large), 0u);
  EXPECT_TRUE(Find(run));
}

}  // namespace
}  // namespace dunlin
