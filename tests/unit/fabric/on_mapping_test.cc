#include "common/fabric/on_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/layout/word.h"

namespace dunlin {
namespace {

constexpr uint64_t kBytes = 4096;

bool Allowed(const Chain& chain, bool read_only = false, uint64_t bytes = kBytes) {
  return ChainAllowed(chain, bytes, read_only);
}

TEST(ChainAllowedTest, RangesUpToTheEndAndNoFurther) {
  struct Range {
    uint64_t remote;
    uint32_t length;
    uint32_t tail;
    bool allowed;
  };
  for (const Range& range :
       {Range{0, 4096, 0, true}, Range{0, 4096, 1, false}, Range{4096, 0, 0, true},
        Range{4097, 0, 0, false}, Range{4095, 1, 0, true}, Range{4095, 1, 1, false},
        Range{4095, 2, 0, false}, Range{~uint64_t{0}, 1, 0, false},
        Range{~uint64_t{0} - 7, 8, 8, false}, Range{0, 0xFFFFFFFF, 0xFFFFFFFF, false}}) {
    Chain chain;
    chain.Write(range.remote, 0, range.length, nullptr, range.tail);
    EXPECT_EQ(Allowed(chain), range.allowed)
        << range.length << " + " << range.tail << " at " << range.remote;
    if (range.tail != 0) continue;
    Chain read;
    read.Read(range.remote, range.length, 0);
    EXPECT_EQ(Allowed(read), range.allowed) << range.length << " at " << range.remote;
  }
}

TEST(ChainAllowedTest, NoWorkOf4GiBHoweverLargeTheRegion) {
  constexpr uint64_t kHuge = uint64_t{1} << 40;
  Chain chain;
  chain.Write(0, 0, 0xFFFFFFFF, nullptr, 0);
  EXPECT_TRUE(Allowed(chain, false, kHuge));
  chain.work[0].tail_length = 1;
  EXPECT_FALSE(Allowed(chain, false, kHuge));
}

TEST(ChainAllowedTest, WordsOnTheirBorders) {
  for (uint64_t remote = 4080; remote <= 4100; ++remote) {
    Chain read, swap, add;
    read.ReadWord(remote);
    swap.CompareSwap(remote, 0, 1);
    add.FetchAdd(remote, 1);
    const bool allowed = remote == 4080 || remote == 4088;
    for (const Chain* each : {&read, &swap, &add}) EXPECT_EQ(Allowed(*each), allowed) << remote;
  }
}

TEST(ChainAllowedTest, ReadOnlyMeansReads) {
  Chain reads;
  reads.Read(0, 8, 0);
  reads.ReadWord(8);
  EXPECT_TRUE(Allowed(reads, true));
  Chain write, swap, add;
  write.Write(0, 0, 0, nullptr, 0);
  swap.ReadWord(0);
  swap.CompareSwap(0, 0, 0);
  add.FetchAdd(0, 0);
  for (const Chain* each : {&write, &swap, &add}) {
    EXPECT_FALSE(Allowed(*each, true));
    EXPECT_TRUE(Allowed(*each, false));
  }
}

TEST(ChainAllowedTest, OneBadVerbIsEnough) {
  for (uint32_t bad = 0; bad < kMaxWorks; ++bad) {
    Chain chain;
    for (uint32_t i = 0; i < kMaxWorks; ++i) chain.ReadWord(i == bad ? kBytes : 8 * i);
    EXPECT_FALSE(Allowed(chain)) << bad;
  }
}

class ExecuteChainTest : public ::testing::Test {
 protected:
  ExecuteChainTest() {
    for (size_t i = 0; i < region_.size(); ++i) region_[i] = std::byte(i * 7 + 1);
  }
  std::byte* base() { return region_.data(); }
  uint64_t Word(uint64_t at) { return PlainWord(base() + at); }

  alignas(8) std::array<std::byte, kBytes> region_;
};

TEST_F(ExecuteChainTest, EveryVerbInOrder) {
  SetPlainWord(base() + 64, 10);
  std::array<std::byte, 64> scratch{};
  std::array<std::byte, 16> sink{};
  const std::array<std::byte, 4> tail = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  scratch[8] = std::byte{9};
  Chain chain;
  chain.scratch = scratch.data();
  chain.ReadWord(64);
  chain.CompareSwap(64, 10, 20);
  chain.CompareSwap(64, 10, 30);
  chain.FetchAdd(64, 5);
  chain.Write(128, 8, 1, tail.data(), 4);
  chain.Read(128, 5, 16);
  chain.Read(128, 5, 0).sink = sink.data();
  chain.ReadByReference(64, 8, 0);
  ExecuteChain(chain, base());
  EXPECT_EQ(chain.work[0].result, 10u);
  EXPECT_EQ(chain.work[1].result, 10u);
  EXPECT_EQ(chain.work[2].result, 20u);
  EXPECT_EQ(chain.work[3].result, 20u);
  EXPECT_EQ(Word(64), 25u);
  const std::array<std::byte, 5> written = {std::byte{9}, std::byte{1}, std::byte{2}, std::byte{3},
                                            std::byte{4}};
  EXPECT_TRUE(std::equal(written.begin(), written.end(), base() + 128));
  EXPECT_EQ(base()[127], std::byte(127 * 7 + 1));
  EXPECT_EQ(base()[133], std::byte(133 * 7 + 1));
  EXPECT_EQ(chain.work[5].data, scratch.data() + 16);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), scratch.begin() + 16));
  EXPECT_EQ(chain.work[6].data, sink.data());
  EXPECT_TRUE(std::equal(written.begin(), written.end(), sink.begin()));
  EXPECT_EQ(sink[5], std::byte{0});
  EXPECT_EQ(chain.work[7].data, base() + 64);
}

TEST_F(ExecuteChainTest, ReadsOfAnyAlignmentAndLength) {
  for (uint64_t from = 0; from < 10; ++from) {
    for (uint32_t length = 0; length < 40; ++length) {
      std::vector<std::byte> sink(length + 1, std::byte{0xAA});
      Chain chain;
      chain.Read(from, length, 0).sink = sink.data();
      ExecuteChain(chain, base());
      EXPECT_TRUE(std::equal(sink.begin(), sink.end() - 1, base() + from)) << from << " " << length;
      EXPECT_EQ(sink[length], std::byte{0xAA});
    }
  }
}

}  // namespace
}  // namespace dunlin
