// Lengths around every limit that a fabric has inside, and the largest chains that the store posts.

#include <algorithm>
#include <vector>

#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

class SizesTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    seat_ = Open();
    other_ = Open();
    ASSERT_TRUE(seat_ != nullptr && other_ != nullptr);
  }
  Channel& channel() { return seat_->channel(); }
  // Lengths up to what this site is asked for.
  std::vector<uint64_t> Lengths(std::vector<uint64_t> lengths) const {
    std::erase_if(lengths, [](uint64_t each) { return each > traits().largest_work; });
    return lengths;
  }

  std::unique_ptr<Seat> seat_;
  std::unique_ptr<Seat> other_;
};

// Inline data, a message, a frame's head and body, a share of the staging memory.
const std::vector<uint64_t> kLengths = {
    0,       1,       7,       8,       9,       31,       32,      33,      63,
    64,      65,      79,      80,      81,      127,      128,     129,     255,
    256,     257,     511,     512,     513,     1023,     1024,    1025,    3799,
    3800,    3801,    4031,    4032,    4033,    4087,     4088,    4089,    4095,
    4096,    4097,    8191,    8192,    8193,    16'383,   16'384,  16'385,  32'767,
    32'768,  32'769,  65'535,  65'536,  65'537,  131'071,  131'072, 131'073, 262'143,
    262'144, 262'145, 524'287, 524'288, 524'289, kMiB - 1, kMiB};

TEST_F(SizesTest, WriteThenCasThenReadOfEveryLength) {
  const uint64_t most = std::min(kMiB, traits().largest_work);
  const uint64_t at = Take(*seat_, most + 16);
  const uint64_t flag = Take(*seat_, 8);
  StoreWordAt(channel(), flag, 0);
  Bytes back(most + 16);
  uint64_t round = 0;
  for (const uint64_t length : Lengths(kLengths)) {
    const Bytes bytes = Pattern(length + 16, ++round);
    Store(channel(), at + length, std::span(bytes).last(16));
    const uint32_t head = static_cast<uint32_t>(std::min<uint64_t>(length, 48));
    Bytes scratch(bytes.begin(), bytes.begin() + head);
    Chain chain;
    chain.scratch = scratch.data();
    chain.Write(at, 0, head, bytes.data() + head, static_cast<uint32_t>(length) - head);
    chain.CompareSwap(flag, round - 1, round);
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone) << length;
    ASSERT_TRUE(chain.Swapped(1)) << length;
    // By another session, with a word behind, as a value is read.
    std::fill(back.begin(), back.end(), std::byte{0xEE});
    Chain read;
    read.Read(at, static_cast<uint32_t>(length), 0).sink = back.data();
    read.ReadWord(flag);
    ASSERT_EQ(Carry(other_->channel(), read), ChainOutcome::kDone) << length;
    ASSERT_EQ(read.work[1].result, round);
    ASSERT_TRUE(std::equal(back.begin(), back.begin() + length, bytes.begin())) << length;
    ASSERT_TRUE(std::all_of(back.begin() + length, back.begin() + length + 16,
                            [](std::byte b) { return b == std::byte{0xEE}; }))
        << length << " bytes were read beyond the end";
    ASSERT_TRUE(
        std::equal(bytes.end() - 16, bytes.end(), Fetch(channel(), at + length, 16).begin()))
        << length << " bytes were written beyond the end";
  }
}

TEST_F(SizesTest, RangesAcrossPageBorders) {
  constexpr uint64_t kPage = 4096;
  if (traits().largest_work < 3 * kPage) GTEST_SKIP() << "no region of several pages";
  const uint64_t room = Take(*seat_, 16 * kPage);
  const uint64_t page = (room + kPage - 1) / kPage * kPage;  // its first whole one
  const Bytes content = Pattern(3 * kPage, 4);
  for (const uint64_t length : {2, 5, 8, 16, 31, 64, 100, 256, 1000, 4096, 5000}) {
    for (const uint64_t before : {1, 2, 7, 8, 9, 15, 16, 23}) {
      if (before >= length) continue;
      const uint64_t from = kPage - before;
      const std::string where =
          std::to_string(length) + " bytes from " + std::to_string(before) + " before a page's end";
      Store(channel(), page, content);
      const Bytes found = Fetch(other_->channel(), page + from, length);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), content.begin() + from))
          << "READ of " << where;
      const Bytes written = Pattern(length, 100 + before);
      Store(channel(), page + from, written);
      Bytes expected = content;
      std::copy(written.begin(), written.end(), expected.begin() + static_cast<ptrdiff_t>(from));
      ASSERT_EQ(Fetch(other_->channel(), page, 3 * kPage), expected) << "WRITE of " << where;
    }
  }
}

// Behind an atomic, where some fabrics take another path.
TEST_F(SizesTest, EveryLengthBehindAnAtomic) {
  const uint64_t most = std::min(kMiB, traits().largest_work);
  const uint64_t at = Take(*seat_, most);
  const uint64_t flag = Take(*seat_, 8);
  StoreWordAt(channel(), flag, 0);
  Bytes back(most);
  uint64_t round = 0;
  for (const uint64_t length : Lengths(kLengths)) {
    const Bytes bytes = Pattern(length, ++round + 1000);
    Chain write;
    write.CompareSwap(flag, round - 1, round);
    write.Write(at, 0, 0, bytes.data(), static_cast<uint32_t>(length));
    ASSERT_EQ(Carry(channel(), write), ChainOutcome::kDone) << length;
    ASSERT_TRUE(write.Swapped(0));
    Chain read;
    read.CompareSwap(flag, round, round);
    read.Read(at, static_cast<uint32_t>(length), 0).sink = back.data();
    read.ReadWord(flag);
    ASSERT_EQ(Carry(other_->channel(), read), ChainOutcome::kDone) << length;
    ASSERT_EQ(read.work[2].result, round);
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), back.begin())) << length;
  }
}

TEST_F(SizesTest, ChainsOfEveryCount) {
  const uint64_t at = Take(*seat_, kMaxWorks * 64);
  const Bytes content = Pattern(kMaxWorks * 64, 3);
  Store(channel(), at, content);
  for (uint32_t count = 1; count <= kMaxWorks; ++count) {
    Bytes scratch(kMaxWorks * 64);
    Chain reads;
    reads.scratch = scratch.data();
    for (uint32_t i = 0; i < count; ++i) reads.Read(at + 64 * i, 64, 64 * i);
    ASSERT_EQ(Carry(channel(), reads), ChainOutcome::kDone) << count;
    EXPECT_TRUE(std::equal(scratch.begin(), scratch.begin() + 64 * count, content.begin()));
    EXPECT_TRUE(std::all_of(scratch.begin() + 64 * count, scratch.end(),
                            [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_F(SizesTest, LongestChainsOfEachKind) {
  const uint64_t bytes = std::min<uint64_t>(2048, traits().largest_work);
  const uint64_t at = Take(*seat_, kMaxWorks * bytes);
  const uint64_t words = Take(*seat_, kMaxWorks * 8);
  Bytes source = Pattern(kMaxWorks * bytes, 5);
  Chain writes;
  writes.scratch = source.data();
  Chain adds;
  Chain first_words;
  for (uint32_t i = 0; i < kMaxWorks; ++i) {
    writes.Write(at + i * bytes, static_cast<uint32_t>(i * bytes), static_cast<uint32_t>(bytes),
                 nullptr, 0);
    StoreWordAt(channel(), words + 8 * i, 100 * i);
    adds.FetchAdd(words + 8 * i, i);
    first_words.ReadWord(words + 8 * i);
  }
  ASSERT_EQ(Carry(channel(), writes), ChainOutcome::kDone);
  ASSERT_EQ(Carry(channel(), adds), ChainOutcome::kDone);
  ASSERT_EQ(Carry(other_->channel(), first_words), ChainOutcome::kDone);
  for (uint32_t i = 0; i < kMaxWorks; ++i) {
    EXPECT_EQ(adds.work[i].result, 100 * i);
    EXPECT_EQ(first_words.work[i].result, 101 * i);
  }
  for (uint32_t i = 0; i < kMaxWorks; ++i) {
    const Bytes found = Fetch(other_->channel(), at + i * bytes, bytes);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), source.begin() + i * bytes)) << i;
  }
}

// A put of the largest value.
TEST_F(SizesTest, LargestWriteWithTheCasBehind) {
  const uint64_t length = std::min(uint64_t{64} * kMiB, traits().largest_work);
  const uint64_t head = std::min<uint64_t>(48, length / 2);
  const uint64_t at = Take(*seat_, length);
  const uint64_t flag = Take(*seat_, 8);
  ASSERT_NE(at, 0u);
  StoreWordAt(channel(), flag, 0);
  for (uint64_t round = 1; round <= 2; ++round) {
    const Bytes bytes = Pattern(length, round);
    Bytes scratch(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(head));
    Chain chain;
    chain.scratch = scratch.data();
    chain.Write(at, 0, static_cast<uint32_t>(head), bytes.data() + head,
                static_cast<uint32_t>(length - head));
    chain.CompareSwap(flag, round - 1, round);
    ASSERT_EQ(Carry(channel(), chain), ChainOutcome::kDone) << channel().broken();
    ASSERT_TRUE(chain.Swapped(1));
    const uint64_t piece = std::min(kMiB, length);
    for (uint64_t done = 0; done < length; done += piece) {
      const Bytes found = Fetch(other_->channel(), at + done, piece);
      ASSERT_TRUE(
          std::equal(found.begin(), found.end(), bytes.begin() + static_cast<ptrdiff_t>(done)))
          << "from " << done << " on";
    }
  }
}

TEST_F(SizesTest, ReadsThatAreTooMuchForOneChainAreRefusedOrRight) {
  const uint64_t length = std::min(2 * kMiB, traits().largest_work);
  const uint64_t at = Take(*seat_, length);
  const uint64_t word = Take(*seat_, 8);
  const Bytes content = Pattern(length, 9);
  Store(channel(), at, content);
  StoreWordAt(channel(), word, 0);
  Bytes back(length);
  Chain chain;
  chain.FetchAdd(word, 1);
  chain.Read(at, static_cast<uint32_t>(length), 0).sink = back.data();
  const ChainOutcome outcome = Carry(channel(), chain);
  if (outcome == ChainOutcome::kDone) {
    EXPECT_EQ(back, content);
  } else {
    EXPECT_EQ(outcome, ChainOutcome::kNotExecuted);
  }
  EXPECT_EQ(FetchWord(channel(), word), outcome == ChainOutcome::kDone ? 1u : 0u);
}

}  // namespace
}  // namespace dunlin::testing
