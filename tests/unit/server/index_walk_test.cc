#include "server/index/index_walk.h"

#include <map>
#include <set>

#include "server/count_walk.h"
#include "server/growth/grower.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

// What a walk shows, with what it has of the subtable that it is in apart.
struct Witness {
  std::map<uint64_t, int> ahead;  // words
  std::map<uint64_t, int> words;  // live ones, and how often
  std::map<uint64_t, int> words_here;
  uint64_t headers = 0;
  uint64_t slots = 0;
  uint64_t subtables = 0;

  void Ahead(SlotWord word) { ++ahead[word.raw()]; }
  void Header(uint64_t address, BucketHeader header) {
    EXPECT_EQ(address % kBucketBytes, 0u);
    EXPECT_TRUE(header.formatted());
    ++headers;
  }
  void Slot(uint64_t address, SlotWord word) {
    EXPECT_NE(address % kBucketBytes, 0u);
    EXPECT_FALSE(word.moved());
    ++slots;
    if (word.live()) ++words_here[word.Thawed().raw()];
  }
  void SubtableDone() {
    ++subtables;
    for (auto [word, times] : words_here) words[word] += times;
    words_here.clear();
  }
};

// On the core's region, beside it: splits are done by a Grower of the test's own.
class IndexWalkTest : public CoreFixture {
 protected:
  IndexWalkTest()
      : region_(base_.get(), plan_),
        index_(region_, plan_),
        allocator_(plan_.heap_bytes, plan_.grace_ms),
        grower_(region_, {&index_, &allocator_, &*atomics_}, BucketHeader::kMaxOwner) {}

  uint64_t Buckets() const { return geometry_.bucket_mask + 1; }

  // Fills every subtable there is to about a half.
  void Fill() {
    std::vector<BlockRef> blocks;
    ASSERT_EQ(allocator_.Take(ClassFor(48), 7000, 1, blocks), 7000u);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const std::string key = "key" + std::to_string(i);
      const SlotWord word = Write(blocks[i].word().raw(), key, "v");
      ASSERT_NE(LinkKey(key, word), 0u);
      live_.insert(word.raw());
    }
  }
  void Split(const IndexSpace::Subtable& subtable) {
    grower_.Start(subtable, 1);
    for (int turn = 0; turn < 10'000 && grower_.splitting() != nullptr; ++turn) grower_.Step(1);
    ASSERT_EQ(grower_.splitting(), nullptr);
  }
  void Finish(IndexWalk& walk, Witness& witness) {
    while (!walk.over()) ASSERT_NE(walk.Step(100, nullptr, witness), 0u);
  }
  void ExpectAllMet(const Witness& witness) {
    EXPECT_EQ(witness.words.size(), live_.size());
    for (uint64_t word : live_) ASSERT_EQ(witness.words.count(word), 1u);
  }

  RegionView region_;
  IndexSpace index_;
  Allocator allocator_;
  Grower grower_;
  std::set<uint64_t> live_;  // words
};

TEST_F(IndexWalkTest, AnEmptyIndex) {
  IndexWalk walk(region_, index_);
  Witness witness;
  EXPECT_EQ(walk.Step(1, nullptr, witness), 1u);
  EXPECT_FALSE(walk.over());
  EXPECT_TRUE(walk.In(index_.At(0)));
  EXPECT_EQ(walk.Step(1u << 30, nullptr, witness), Buckets() - 1);
  EXPECT_TRUE(walk.over());
  EXPECT_FALSE(walk.In(index_.At(0)));
  EXPECT_EQ(walk.permille(), 1000u);
  EXPECT_EQ(walk.Step(1, nullptr, witness), 0u);
  EXPECT_EQ(witness.headers, Buckets());
  EXPECT_EQ(witness.slots, Buckets() * kSlotsPerBucket);
  EXPECT_EQ(witness.subtables, 1u);
  EXPECT_TRUE(witness.words.empty());
}

TEST_F(IndexWalkTest, EverySlotIsMetOnceAndMostOfThemAhead) {
  Fill();
  IndexWalk walk(region_, index_);
  Witness witness;
  Finish(walk, witness);
  ExpectAllMet(witness);
  for (auto [word, times] : witness.words) ASSERT_EQ(times, 1);
  EXPECT_GT(witness.ahead.size(), live_.size() * 9 / 10);
}

TEST_F(IndexWalkTest, ASplitBehindOrBeforeTheWalkHidesNothing) {
  Fill();
  Split(index_.At(0));
  for (uint64_t stop : {uint64_t{0}, Buckets() / 2, Buckets() + 1, Buckets() * 3 / 2}) {
    SCOPED_TRACE(stop);
    IndexWalk walk(region_, index_);
    Witness witness;
    while (witness.headers < stop) walk.Step(1, nullptr, witness);
    // The deepest there is on the side where the walk is not.
    const uint32_t position = stop < Buckets() ? IndexSpace::kPositions - 1 : 0;
    Split(index_.At(position));
    Finish(walk, witness);
    ExpectAllMet(witness);
    for (auto [word, times] : witness.words) ASSERT_EQ(times, 1) << "a split showed a slot again";
  }
  EXPECT_GT(index_.subtables(), 4u);
}

TEST_F(IndexWalkTest, ASplitAroundTheWalkIsMetAfterAStepBack) {
  Fill();
  Split(index_.At(0));
  for (uint32_t bucket : {1u, 512u, 1023u}) {
    IndexWalk walk(region_, index_);
    Witness witness;
    walk.Step(bucket, nullptr, witness);
    const IndexSpace::Subtable here = index_.At(0);
    ASSERT_TRUE(walk.In(here));
    walk.StepBack();
    witness.words_here.clear();
    EXPECT_FALSE(walk.In(here));
    Split(here);
    Finish(walk, witness);
    ExpectAllMet(witness);
    for (auto [word, times] : witness.words) ASSERT_EQ(times, 1);
  }
}

TEST_F(IndexWalkTest, TheClosedSubtableIsNotEntered) {
  Fill();
  Split(index_.At(0));
  const IndexSpace::Subtable second = index_.At(IndexSpace::kPositions - 1);
  IndexWalk walk(region_, index_);
  Witness witness;
  uint32_t visited = 0;
  while (uint32_t step = walk.Step(100, &second, witness)) visited += step;
  EXPECT_EQ(visited, Buckets());
  EXPECT_FALSE(walk.over());
  EXPECT_EQ(walk.permille(), 500u);
  EXPECT_EQ(walk.Step(100, &second, witness), 0u);
  Finish(walk, witness);
  ExpectAllMet(witness);
}

TEST_F(IndexWalkTest, CountsAreExactAcrossSplits) {
  Fill();
  Split(index_.At(0));
  CountWalk count(region_, index_);
  HoldLock(Buckets() - 1, 5);  // in the retired subtable: nobody's
  const uint64_t lock = index_.At(IndexSpace::kPositions - 1).address;
  StoreWord(At(lock), HeaderAt(lock).HeldBy(5, 1).raw());
  count.Step(700, nullptr);
  ASSERT_TRUE(count.In(index_.At(0)));
  count.StepBack();
  Split(index_.At(0));
  while (!count.over()) ASSERT_NE(count.Step(100, nullptr), 0u);
  EXPECT_EQ(count.counts().items, live_.size());
  EXPECT_EQ(count.counts().locks, 1u);
}

}  // namespace
}  // namespace dunlin
