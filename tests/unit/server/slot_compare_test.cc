#include "server/snapshot/slot_compare.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

constexpr uint32_t kBuckets = 64;

class SlotCompareTest : public testing::TestWithParam<NamedCompare> {
 protected:
  SlotCompareTest()
      : buckets_(static_cast<std::byte*>(std::aligned_alloc(128, kBuckets * kBucketBytes))) {
    for (uint32_t w = 0; w < kBuckets * kBucketBytes / kWordBytes; ++w) {
      StoreWord(buckets_.get() + w * kWordBytes, random_.Next());
    }
  }

  void* Slot(uint32_t bucket, uint32_t slot) {
    return buckets_.get() + bucket * kBucketBytes + kWordBytes * (1 + slot);
  }
  SlotWord RandomWord() {
    return SlotWord::Make(random_.Below(1 << 20) * kBlockUnit,
                          static_cast<SizeClass>(random_.Between(1, kLastSlabClass)),
                          static_cast<uint32_t>(random_.Next()),
                          static_cast<uint32_t>(random_.Next()));
  }
  // Every slot used with that chance, in 1/16.
  void Fill(uint32_t sixteenths) {
    masks_.assign(kBuckets, 0);
    words_.clear();
    for (uint32_t b = 0; b < kBuckets; ++b) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const bool used = random_.Below(16) < sixteenths;
        const SlotWord word = used ? RandomWord() : SlotWord::Empty();
        StoreWord(Slot(b, s), word.raw());
        if (!used) continue;
        masks_[b] |= static_cast<uint16_t>(1 << s);
        words_.push_back(word.raw());
      }
    }
    used_ = words_.size();
    // Whatever lies behind the last word must not matter.
    for (uint32_t i = 0; i < kWordsPadding; ++i) words_.push_back(random_.Next());
  }
  uint64_t Compare(uint32_t first, uint32_t count) {
    PackedBuckets packed{masks_.data() + first, words_.data()};
    for (uint32_t b = 0; b < first; ++b) packed.words += std::popcount(masks_[b]);
    const uint64_t* words = packed.words;
    for (uint32_t b = first; b < first + count; ++b) words += std::popcount(masks_[b]);
    const uint64_t differ =
        GetParam().compare(buckets_.get() + first * kBucketBytes, count, packed);
    EXPECT_EQ(packed.masks, masks_.data() + first + count);
    EXPECT_EQ(packed.words, words);
    return differ;
  }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  Random random_{11};
  std::unique_ptr<std::byte, Free> buckets_;
  std::vector<uint16_t> masks_;
  std::vector<uint64_t> words_;
  size_t used_ = 0;
};

TEST_P(SlotCompareTest, SeesEachSlotThatDiffersAndNoOther) {
  for (uint32_t sixteenths : {0u, 3u, 8u, 13u, 16u}) {
    Fill(sixteenths);
    ASSERT_EQ(Compare(0, kBuckets), 0u);
    for (uint32_t b = 0; b < kBuckets; b += 7) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const uint64_t was = LoadWord(Slot(b, s));
        StoreWord(Slot(b, s), was == 0 ? RandomWord().raw() : 0);
        EXPECT_EQ(Compare(0, kBuckets), uint64_t{1} << b) << b << ", slot " << s;
        if (was != 0) {
          StoreWord(Slot(b, s), was ^ uint64_t{1} << random_.Between(1, 63));
          EXPECT_EQ(Compare(0, kBuckets), uint64_t{1} << b) << b << ", slot " << s;
        }
        StoreWord(Slot(b, s), was);
      }
    }
  }
}

TEST_P(SlotCompareTest, FrozenIsTheSameAndMovedIsEmpty) {
  Fill(9);
  for (uint32_t b = 0; b < kBuckets; ++b) {
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      const SlotWord word(LoadWord(Slot(b, s)));
      StoreWord(Slot(b, s), word.empty() ? SlotWord::Moved().raw() : word.Frozen().raw());
    }
  }
  EXPECT_EQ(Compare(0, kBuckets), 0u);
  uint32_t s = 0;
  while ((masks_[5] >> s & 1) == 0) ++s;
  StoreWord(Slot(5, s), SlotWord::Moved().raw());
  EXPECT_EQ(Compare(0, kBuckets), uint64_t{1} << 5);
}

TEST_P(SlotCompareTest, TakesAnyNumberOfBuckets) {
  Fill(12);
  for (uint32_t first : {0u, 1u, 17u, 63u}) {
    for (uint32_t count = 1; first + count <= kBuckets; count += 5) {
      EXPECT_EQ(Compare(first, count), 0u) << first << ", " << count;
    }
  }
}

std::vector<NamedCompare> All() {
  NamedCompare list[3];
  return {list, list + ListCompares(list)};
}

INSTANTIATE_TEST_SUITE_P(Compares, SlotCompareTest, testing::ValuesIn(All()), [](const auto& info) {
  std::string name;
  for (const char* c = info.param.name; *c != 0; ++c) {
    if (*c != '-') name += *c;
  }
  return name;
});

TEST(FastestCompareTest, IsTheFirstOfTheList) {
  EXPECT_EQ(FastestCompare().compare, All()[0].compare);
  EXPECT_STREQ(FastestCompare().name, All()[0].name);
}

}  // namespace
}  // namespace dunlin
