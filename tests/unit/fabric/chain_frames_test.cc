#include "common/fabric/chain_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/word.h"
#include "tests/unit/fabric/chain_frames_testing.h"

namespace dunlin {
namespace {

using testing::Bytes;
using testing::Compose;
using testing::RandomBytes;
using testing::Serve;

constexpr uint64_t kRegionBytes = uint64_t{4} << 20;

// A chain of random verbs on a few words and a range, and the room that it needs.
struct Sample {
  Sample(Random& random, uint64_t longest) : scratch(kMaxWorks * longest), tail(longest) {
    scratch = RandomBytes(random, scratch.size());
    tail = RandomBytes(random, tail.size());
    sinks.resize(kMaxWorks * longest);
    chain.scratch = scratch.data();
    const uint32_t count = 1 + static_cast<uint32_t>(random.Next() % kMaxWorks);
    while (chain.count < count) Add(random, longest);
  }
  void Add(Random& random, uint64_t longest) {
    const uint64_t word = 8 * (random.Next() % 4);
    const uint64_t at = 64 + random.Next() % 64;
    const uint32_t local = static_cast<uint32_t>(chain.count * longest);
    const uint32_t length = static_cast<uint32_t>(random.Next() % (longest + 1));
    switch (random.Next() % 7) {
      case 0:
        chain.ReadWord(word);
        break;
      case 1:
        chain.CompareSwap(word, random.Next() % 3, random.Next() % 3);
        break;
      case 2:
        chain.FetchAdd(word, random.Next() % 3);
        break;
      case 3:
        chain.Read(at, length, local);
        break;
      case 4:
        chain.Read(at, length, 0).sink = sinks.data() + local;
        break;
      default: {
        const uint32_t head = length == 0 ? 0 : static_cast<uint32_t>(random.Next() % length);
        chain.Write(at, local, head, tail.data(), length - head);
      }
    }
  }
  Bytes scratch;
  Bytes tail;
  Bytes sinks;
  Chain chain;
};

TEST(ChainFramesTest, AChainInFramesDoesWhatTheChainDoes) {
  Random random(3);
  Bytes region = RandomBytes(random, 4096);
  for (uint64_t i = 0; i < 4; ++i) SetPlainWord(region.data() + 8 * i, 0);
  for (int round = 0; round < 3000; ++round) {
    Sample sample(random, 200);
    Bytes by_chain = region;
    Chain chain = sample.chain;
    Bytes scratch = sample.scratch;
    Bytes sinks = sample.sinks;
    chain.scratch = scratch.data();
    for (uint32_t i = 0; i < chain.count; ++i) {
      if (chain.work[i].sink != nullptr) {
        chain.work[i].sink = sinks.data() + (chain.work[i].sink - sample.sinks.data());
      }
    }
    ExecuteChain(chain, by_chain.data());

    ASSERT_TRUE(ChainFitsFrames(sample.chain, 0));
    const std::vector<Bytes> bodies = Compose(sample.chain);
    ASSERT_EQ(bodies.size(), 1u);
    const Bytes reply = Serve(bodies, region);
    ASSERT_EQ(reply.size(), ChainReplyBytes(sample.chain, 0));
    ASSERT_EQ(ApplyChainReply(sample.chain, 0, reply), "");
    ASSERT_EQ(region, by_chain);
    ASSERT_EQ(sample.scratch, scratch);
    ASSERT_EQ(sample.sinks, sinks);
    for (uint32_t i = 0; i < chain.count; ++i) {
      const Work& work = sample.chain.work[i];
      if (IsWordVerb(work.verb)) {
        ASSERT_EQ(work.result, chain.work[i].result);
      }
      if (work.verb != Verb::kRead) continue;
      ASSERT_EQ(work.data, work.sink != nullptr ? work.sink : sample.scratch.data() + work.local);
    }
  }
}

TEST(ChainFramesTest, WorksBeforeTheFirstAreLeftOut) {
  Bytes region(4096);
  Chain chain;
  Bytes scratch(64);
  chain.scratch = scratch.data();
  chain.Write(0, 0, 8, nullptr, 0);
  chain.ReadWord(8);
  chain.work[1].result = 77;
  chain.CompareSwap(16, 0, 5);
  chain.Read(16, 8, 8);
  EXPECT_EQ(FirstAtomic(chain), 2u);
  scratch[0] = std::byte{1};
  const Bytes reply = Serve(Compose(chain, 2), region);
  EXPECT_EQ(reply.size(), sizeof(ChainReply) + 8 + 8);
  EXPECT_EQ(ApplyChainReply(chain, 2, reply), "");
  EXPECT_EQ(chain.work[1].result, 77u);
  EXPECT_EQ(chain.work[2].result, 0u);
  EXPECT_EQ(PlainWord(scratch.data() + 8), 5u);
  EXPECT_EQ(PlainWord(region.data()), 0u) << "the WRITE before the first was sent";
}

TEST(ChainFramesTest, FirstAtomic) {
  Chain chain;
  chain.ReadWord(0);
  chain.Read(0, 8, 0);
  EXPECT_EQ(FirstAtomic(chain), 2u);
  chain.FetchAdd(0, 1);
  chain.CompareSwap(0, 1, 2);
  EXPECT_EQ(FirstAtomic(chain), 2u);
}

// Long WRITEs at any place of a word, between other verbs.
TEST(ChainFramesTest, LongWritesAreCutBetweenWords) {
  Random random(4);
  for (const uint64_t at : {8, 13, 64, 71}) {
    for (const uint64_t length : {uint64_t{kMaxChainBody} - 300, uint64_t{kMaxChainBody} - 264,
                                  uint64_t{kMaxChainBody} - 263, uint64_t{kMaxChainBody},
                                  3 * uint64_t{kMaxChainBody} + 5}) {
      Bytes region(kRegionBytes);
      const Bytes tail = RandomBytes(random, length);
      Bytes scratch = RandomBytes(random, 40);
      Chain chain;
      chain.scratch = scratch.data();
      chain.Write(at, 0, 37, tail.data(), static_cast<uint32_t>(length - 37));
      chain.CompareSwap(0, 0, 9);
      ASSERT_TRUE(ChainFitsFrames(chain, 0));
      const std::vector<Bytes> bodies = Compose(chain);
      uint64_t next = at;
      for (const Bytes& body : bodies) {
        ASSERT_LE(body.size(), kMaxChainBody);
        ReceivedChain received;
        ASSERT_EQ(ParseChainRequest(body, kRegionBytes, false, &received), "");
        for (uint32_t i = 0; i < received.chain.count; ++i) {
          const Work& work = received.chain.work[i];
          if (work.verb != Verb::kWrite) continue;
          EXPECT_EQ(work.remote, next);
          EXPECT_TRUE(next == at || next % kWordBytes == 0) << "a word was cut";
          next += work.length;
        }
      }
      EXPECT_EQ(next, at + length);
      const Bytes reply = Serve(bodies, region);
      ASSERT_EQ(ApplyChainReply(chain, 0, reply), "");
      EXPECT_TRUE(chain.Swapped(1));
      EXPECT_EQ(PlainWord(region.data()), 9u);
      EXPECT_TRUE(std::equal(scratch.begin(), scratch.begin() + 37, region.begin() + at));
      EXPECT_TRUE(std::equal(tail.begin(), tail.begin() + (length - 37), region.begin() + at + 37));
      const uint64_t end = at + length;
      EXPECT_TRUE(std::all_of(region.begin() + end, region.begin() + end + 64,
                              [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST(ChainFramesTest, WritesWithoutBytesAreWorksLikeOthers) {
  Bytes region(4096);
  Chain chain;
  for (uint32_t i = 0; i < kMaxWorks; ++i) {
    chain.Write(i, 0, 0, nullptr, 0);
    const std::vector<Bytes> bodies = Compose(chain);
    ASSERT_EQ(bodies.size(), 1u);
    EXPECT_EQ(ApplyChainReply(chain, 0, Serve(bodies, region)), "");
  }
  EXPECT_EQ(region, Bytes(4096));
}

TEST(ChainFramesTest, SeveralLongWritesAndAFullChain) {
  Random random(5);
  Bytes region(kRegionBytes);
  const Bytes tail = RandomBytes(random, 400'000);
  Chain chain;
  for (uint32_t i = 0; i < kMaxWorks - 1; ++i) {
    chain.Write(64 + i * 400'008, 0, 0, tail.data(), 400'000);
  }
  chain.FetchAdd(0, 3);
  ASSERT_TRUE(ChainFitsFrames(chain, 0));
  const std::vector<Bytes> bodies = Compose(chain);
  EXPECT_GT(bodies.size(), 1u);
  const Bytes reply = Serve(bodies, region);
  ASSERT_EQ(ApplyChainReply(chain, 0, reply), "");
  EXPECT_EQ(PlainWord(region.data()), 3u);
  for (uint32_t i = 0; i < kMaxWorks - 1; ++i) {
    EXPECT_TRUE(std::equal(tail.begin(), tail.end(), region.begin() + 64 + i * 400'008)) << i;
  }
}

TEST(ChainFramesTest, WhatFits) {
  Chain reads;
  reads.Read(0, kMaxChainBody - sizeof(ChainReply), 0);
  EXPECT_TRUE(ChainFitsFrames(reads, 0));
  reads.ReadWord(0);
  EXPECT_FALSE(ChainFitsFrames(reads, 0));
  EXPECT_TRUE(ChainFitsFrames(reads, 1));

  // A reply can't be composed before all requests have come.
  Chain swap_first;
  swap_first.CompareSwap(0, 0, 1);
  swap_first.Write(0, 0, 1u << 20, nullptr, 0);
  EXPECT_TRUE(ChainFitsFrames(swap_first, 0));
  swap_first.work[1].tail_length = 8192;
  EXPECT_FALSE(ChainFitsFrames(swap_first, 0));
  EXPECT_TRUE(ChainFitsFrames(swap_first, 1));

  Chain write_first;
  write_first.Write(0, 0, 1u << 30, nullptr, 0);
  write_first.Write(0, 0, 1u << 30, nullptr, 0);
  write_first.CompareSwap(0, 0, 1);
  EXPECT_TRUE(ChainFitsFrames(write_first, 0));
  write_first.Write(0, 0, 8, nullptr, 0);
  EXPECT_FALSE(ChainFitsFrames(write_first, 0));
}

}  // namespace
}  // namespace dunlin
