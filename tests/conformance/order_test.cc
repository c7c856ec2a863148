// Ordering within a chain and between chains, seen from other channels.

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

class OrderTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    one_ = Open();
    two_ = Open();
    ASSERT_TRUE(one_ != nullptr && two_ != nullptr);
  }
  uint64_t NewWord(uint64_t word = 0) {
    const uint64_t at = Take(*one_, 8);
    StoreWordAt(one_->channel(), at, word);
    return at;
  }

  std::unique_ptr<Seat> one_;
  std::unique_ptr<Seat> two_;
};

// Every word of [at, at + bytes) lies within [low, high].
::testing::AssertionResult AllWithin(std::span<const std::byte> bytes, uint64_t low,
                                     uint64_t high) {
  for (size_t i = 0; i < bytes.size() / 8; ++i) {
    const uint64_t word = WordOf(bytes, i);
    if (word < low || word > high) {
      return ::testing::AssertionFailure()
             << "word " << i << " is of round " << word << ", expected " << low << " to " << high;
    }
  }
  return ::testing::AssertionSuccess();
}

// One publishes records: [WRITE record, CAS flag]. Whoever sees the flag of a round must see that
// round's record, or a later one's.
void PublishAndWatch(Channel& writer, Channel& reader, uint64_t record, uint64_t flag,
                     uint32_t bytes, uint64_t rounds) {
  std::atomic<uint64_t> begun{0};
  std::thread writes([&] {
    for (uint64_t round = 1; round <= rounds; ++round) {
      const Bytes content = Repeat(bytes, round);
      begun = round;
      Chain chain;
      chain.Write(record, 0, 0, content.data(), bytes);
      chain.CompareSwap(flag, round - 1, round);
      if (Carry(writer, chain) != ChainOutcome::kDone || !chain.Swapped(1)) {
        ADD_FAILURE() << "round " << round << " was not published";
        return;
      }
    }
  });
  Bytes back(bytes);
  uint64_t seen = 0;
  bool fine = true;
  while (fine && seen < rounds && !::testing::Test::HasFailure()) {
    Chain look;
    look.ReadWord(flag);
    if (Carry(reader, look) != ChainOutcome::kDone) break;
    seen = look.work[0].result;
    Chain read;
    read.Read(record, bytes, 0).sink = back.data();
    if (Carry(reader, read) != ChainOutcome::kDone) break;
    EXPECT_TRUE(fine = AllWithin(back, seen, begun)) << "a READ behind the completion";
    // An atomic that changes nothing, and the record behind it in the same chain.
    Chain both;
    both.FetchAdd(flag, 0);
    both.Read(record, bytes, 0).sink = back.data();
    if (!fine || Carry(reader, both) != ChainOutcome::kDone) break;
    seen = both.work[0].result;
    EXPECT_TRUE(fine = AllWithin(back, seen, begun)) << "a READ behind an atomic of its chain";
  }
  writes.join();
}

TEST_F(OrderTest, WriteIsVisibleToWhoeverSeesTheCasBehindIt) {
  const uint64_t record = Take(*one_, 64);
  Store(one_->channel(), record, Repeat(64, 0));
  PublishAndWatch(one_->channel(), two_->channel(), record, NewWord(), 64, Rounds(4000));
}

TEST_F(OrderTest, LongWriteIsVisibleToWhoeverSeesTheCasBehindIt) {
  const uint32_t bytes = static_cast<uint32_t>(std::min<uint64_t>(12'288, traits().largest_work));
  const uint64_t record = Take(*one_, bytes);
  Store(one_->channel(), record, Repeat(bytes, 0));
  PublishAndWatch(one_->channel(), two_->channel(), record, NewWord(), bytes,
                  traits().executes_in_poll ? 10'000 : 1000);
}

// Each raises its own word, then reads the other's: not both can miss the other. (Were a READ
// sampled before an atomic in front of it, they would.)
void RaiseAndLook(Channel& channel, std::barrier<>& start, uint64_t mine, uint64_t other,
                  bool whole, uint64_t rounds, std::vector<uint64_t>& seen) {
  Bytes sink(8);
  for (uint64_t round = 0; round < rounds; ++round) {
    Chain chain;
    chain.FetchAdd(mine, 1);
    if (whole) {
      chain.ReadWord(other);
    } else {
      chain.Read(other, 8, 0).sink = sink.data();
    }
    start.arrive_and_wait();
    EXPECT_EQ(Carry(channel, chain), ChainOutcome::kDone);
    seen.push_back(whole ? chain.work[1].result : WordOf(sink, 0));
  }
}

TEST_F(OrderTest, ReadBehindAnAtomicIsSampledAfterIt) {
  // Each begins with both threads at one place, which takes its time.
  const uint64_t rounds = traits().executes_in_poll ? 10'000 : 1000;
  for (const bool whole : {true, false}) {
    const uint64_t a = NewWord();
    const uint64_t b = NewWord();
    std::vector<uint64_t> seen_by_one, seen_by_two;
    std::barrier<> start(2);
    std::thread two(
        [&] { RaiseAndLook(two_->channel(), start, b, a, whole, rounds, seen_by_two); });
    RaiseAndLook(one_->channel(), start, a, b, whole, rounds, seen_by_one);
    two.join();
    for (uint64_t round = 0; round < rounds; ++round) {
      ASSERT_TRUE(seen_by_one[round] > round || seen_by_two[round] > round) << "round " << round;
    }
  }
}

// The insert of the store: what is read behind a lock that was got is what its last holder left.
TEST_F(OrderTest, ReadBehindALockShowsWhatItsLastHolderWrote) {
  const uint64_t rounds = Rounds(500);
  const uint64_t lock = NewWord(0);
  const uint64_t value = NewWord(0);
  auto increment = [&](Channel& channel, uint64_t name) {
    for (uint64_t done = 0; done < rounds;) {
      Chain take;
      take.CompareSwap(lock, 0, name);
      take.ReadWord(value);
      if (Carry(channel, take) != ChainOutcome::kDone) return ADD_FAILURE() << channel.broken();
      if (!take.Swapped(0)) continue;
      const uint64_t found = take.work[1].result;
      Chain give;
      give.CompareSwap(value, found, found + 1);
      give.CompareSwap(lock, name, 0);
      if (Carry(channel, give) != ChainOutcome::kDone) return ADD_FAILURE() << channel.broken();
      EXPECT_TRUE(give.Swapped(0)) << "what was read under the lock was old";
      EXPECT_TRUE(give.Swapped(1)) << "somebody else changed the lock";
      ++done;
    }
  };
  std::thread two([&] { increment(two_->channel(), 2); });
  increment(one_->channel(), 1);
  two.join();
  EXPECT_EQ(FetchWord(one_->channel(), value), 2 * rounds);
}

// A WRITE whose completion was polled is seen by every chain that is posted then.
TEST_F(OrderTest, WhatIsDoneIsSeenByChainsPostedLater) {
  for (const uint64_t bytes : {8, 200, 256, 4096, 40'000}) {
    if (bytes > traits().largest_work) continue;
    const uint64_t at = Take(*one_, bytes);
    const uint64_t rounds = bytes > 256 ? 100 : 500;
    for (uint64_t round = 1; round <= rounds; ++round) {
      Seat& writer = round % 2 == 0 ? *one_ : *two_;
      Seat& reader = round % 2 == 0 ? *two_ : *one_;
      const Bytes content = Repeat(bytes, round);
      Store(writer.channel(), at, content);
      ASSERT_EQ(Fetch(reader.channel(), at, bytes), content) << bytes << " bytes";
      // And another chain of the same channel may follow at once.
      Store(writer.channel(), at, Repeat(bytes, round + rounds));
      ASSERT_EQ(FetchWord(writer.channel(), at + bytes - 8), round + rounds);
    }
  }
}

TEST_F(OrderTest, LastVerbsCompletionMeansThatAllAreDone) {
  constexpr uint64_t kBytes = 240;
  const uint64_t at = Take(*one_, 4 * kBytes);
  const uint64_t word = NewWord();
  for (uint64_t round = 1; round <= 500; ++round) {
    const Bytes content = Repeat(kBytes, round);
    Chain chain;
    for (uint64_t i = 0; i < 4; ++i) {
      chain.Write(at + i * kBytes, 0, 0, content.data(), kBytes);
    }
    // The last verb is of each kind in turn.
    if (round % 3 == 1) chain.CompareSwap(word, 0, 0);
    if (round % 3 == 2) chain.ReadWord(word);
    ASSERT_EQ(Carry(one_->channel(), chain), ChainOutcome::kDone);
    Bytes found(4 * kBytes);
    Chain read;
    read.scratch = found.data();
    for (uint32_t i = 0; i < 4; ++i) read.Read(at + i * kBytes, kBytes, i * kBytes);
    ASSERT_EQ(Carry(two_->channel(), read), ChainOutcome::kDone);
    ASSERT_EQ(found, Repeat(4 * kBytes, round)) << "round " << round;
  }
}

// Two READs in a chain are ordered by nothing, but both are sampled after the post.
TEST_F(OrderTest, ReadsAreNotOlderThanTheirPost) {
  const uint64_t word = NewWord();
  for (uint64_t round = 1; round <= 500; ++round) {
    Chain add;
    add.FetchAdd(word, 1);
    ASSERT_EQ(Carry(two_->channel(), add), ChainOutcome::kDone);
    Bytes sink(8);
    Chain reads;
    reads.Read(word, 8, 0).sink = sink.data();
    reads.ReadWord(word);
    reads.CompareSwap(word, 0, 0);
    reads.ReadWord(word);
    ASSERT_EQ(Carry(one_->channel(), reads), ChainOutcome::kDone);
    ASSERT_EQ(WordOf(sink, 0), round);
    ASSERT_EQ(reads.work[1].result, round);
    ASSERT_EQ(reads.work[2].result, round);
    ASSERT_EQ(reads.work[3].result, round);
  }
}

}  // namespace
}  // namespace dunlin::testing
