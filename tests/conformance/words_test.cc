// What is whole: aligned words, under READs, WRITEs and atomics of several channels at once; and
// what isn't: everything longer.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <numeric>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/layout/checksum.h"
#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

constexpr uint64_t kOnes = 0x1111111111111111;
constexpr uint64_t kTwos = 0xEEEEEEEEEEEEEEEE;

class WordsTest : public ConformanceTest {
 protected:
  // Sessions of this fabric, and, if the server has such, one of another.
  std::vector<std::unique_ptr<Seat>> OpenSeveral(size_t count) {
    std::vector<std::unique_ptr<Seat>> seats;
    for (size_t i = 0; i < count; ++i) seats.push_back(Open());
    if (auto other = site().OpenByOtherFabric(); other != nullptr)
      seats.push_back(std::move(other));
    return seats;
  }
};

// Ends the threads that go on until then.
class Background {
 public:
  template <typename Body>
  void Start(Body body) {
    threads_.emplace_back([this, body] {
      while (!over_) body();
    });
  }
  ~Background() {
    over_ = true;
    for (std::thread& each : threads_) each.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

::testing::AssertionResult OneOf(uint64_t word, uint64_t a, uint64_t b) {
  if (word == a || word == b) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "a word that was never there: " << std::hex << word;
}

TEST_F(WordsTest, WordsThatAtomicsChangeAreReadWhole) {
  auto flipper = Open();
  auto reader = Open();
  constexpr uint32_t kBytes = 512;
  constexpr uint32_t kWord = 24;  // the one that changes, among others
  const uint64_t at = Take(*flipper, kBytes);
  Store(flipper->channel(), at, Repeat(kBytes, kOnes));
  std::atomic<uint64_t> flips{0};
  Background background;
  background.Start([&] {
    for (const auto& [from, to] : {std::pair(kOnes, kTwos), {kTwos, kOnes}}) {
      Chain chain;
      chain.CompareSwap(at + 8 * kWord, from, to);
      EXPECT_EQ(Carry(flipper->channel(), chain), ChainOutcome::kDone);
      EXPECT_TRUE(chain.Swapped(0));
    }
    ++flips;
  });
  Bytes sink(kBytes);
  uint64_t ones = 0, twos = 0;
  // Both must have been seen, else this has shown nothing.
  const SystemClock clock;
  const int64_t give_up = clock.NowNanos() + kPatienceNanos;
  for (uint32_t round = 0; round < Rounds(500) || ones == 0 || twos == 0 || flips == 0; ++round) {
    ASSERT_LT(clock.NowNanos(), give_up) << ones << " ones, " << twos << " twos";
    Chain chain;
    const uint32_t words = 1 + round % 20;
    const uint32_t first = kWord - round % words;
    chain.ReadWord(at + 8 * kWord);
    chain.Read(at + 8 * first, 8 * words, 0).sink = sink.data();
    ASSERT_EQ(Carry(reader->channel(), chain), ChainOutcome::kDone);
    for (const uint64_t word : {chain.work[0].result, WordOf(sink, kWord - first)}) {
      ASSERT_TRUE(OneOf(word, kOnes, kTwos));
      ++(word == kOnes ? ones : twos);
    }
    for (uint32_t i = 0; i < words; ++i) {
      ASSERT_TRUE(first + i == kWord || WordOf(sink, i) == kOnes);
    }
  }
}

TEST_F(WordsTest, AlignedWritesWriteWordsWhole) {
  auto writer = Open();
  auto reader = Open();
  const uint32_t bytes = static_cast<uint32_t>(std::min<uint64_t>(4096, traits().largest_work));
  const uint64_t at = Take(*writer, bytes);
  Store(writer->channel(), at, Repeat(bytes, kOnes));
  const Bytes ones = Repeat(bytes, kOnes);
  const Bytes twos = Repeat(bytes, kTwos);
  uint32_t turn = 0;
  Background background;
  background.Start([&] {
    const uint32_t head = 8 * (++turn % (bytes / 8));
    for (const Bytes& content : {twos, ones}) {
      Bytes scratch(content.begin(), content.begin() + head);
      Chain chain;
      chain.scratch = scratch.data();
      chain.Write(at, 0, head, content.data() + head, bytes - head);
      EXPECT_EQ(Carry(writer->channel(), chain), ChainOutcome::kDone);
    }
  });
  Bytes sink(bytes);
  const uint32_t rounds = traits().executes_in_poll ? 20'000 : 1000;
  for (uint32_t round = 0; round < rounds; ++round) {
    Chain chain;
    chain.Read(at, bytes, 0).sink = sink.data();
    chain.ReadWord(at + 8 * (round % (bytes / 8)));
    ASSERT_EQ(Carry(reader->channel(), chain), ChainOutcome::kDone);
    ASSERT_TRUE(OneOf(chain.work[1].result, kOnes, kTwos));
    for (uint32_t i = 0; i < bytes / 8; ++i) ASSERT_TRUE(OneOf(WordOf(sink, i), kOnes, kTwos));
  }
}

uint64_t ChecksumOf(std::span<const std::byte> content) {
  return RecordChecksum(RecordHeader(0), 1, 0, {}, content);
}

// With its checksum in front.
Bytes RecordOfRound(uint64_t round, uint32_t bytes) {
  Bytes record = Repeat(bytes, round);
  const uint64_t checksum = ChecksumOf(std::span(record).subspan(8));
  std::copy_n(std::as_bytes(std::span(&checksum, 1)).begin(), 8, record.begin());
  return record;
}

struct Looks {
  uint32_t torn = 0;
  uint32_t whole = 0;
};

// Reads a record while another session writes it, until both kinds were seen or the time is over.
// Whether it was torn is told by its words, and must be told by its checksum, too.
Looks ReadWhileWritten(Channel& reader, Channel& writer, uint64_t at, uint32_t bytes,
                       int64_t nanos) {
  constexpr uint32_t kEnough = 5;
  const Bytes contents[] = {RecordOfRound(1, bytes), RecordOfRound(2, bytes)};
  Store(writer, at, contents[0]);
  uint64_t turn = 0;
  Background background;
  background.Start([&] { Store(writer, at, contents[++turn % 2]); });
  const SystemClock clock;
  const int64_t give_up = clock.NowNanos() + nanos;
  Looks looks;
  while ((looks.torn < kEnough || looks.whole == 0) && clock.NowNanos() < give_up &&
         !::testing::Test::HasFailure()) {
    const Bytes found = Fetch(reader, at, bytes);
    bool uniform = true;
    for (uint32_t i = 1; i < bytes / 8; ++i) {
      EXPECT_TRUE(OneOf(WordOf(found, i), 1, 2));
      uniform &= WordOf(found, i) == WordOf(found, 1);
    }
    const bool fits = ChecksumOf(std::span(found).subspan(8)) == WordOf(found, 0);
    EXPECT_TRUE(uniform || !fits) << "the checksum took a torn record for a whole one";
    ++(fits ? looks.whole : looks.torn);
  }
  return looks;
}

// READs of more than a word may be torn, and are; and a checksum notices each one.
TEST_F(WordsTest, TornReadsHappenAndAChecksumTellsThem) {
  auto reader = Open();
  // By stores of a processor, if the server has such sessions.
  auto writer = site().OpenByOtherFabric();
  if (writer == nullptr && traits().tears) writer = Open();
  if (writer == nullptr) GTEST_SKIP() << "nothing writes while this fabric reads";
  const uint64_t most = std::min<uint64_t>(1u << 20, traits().largest_work);
  const uint64_t at = Take(*writer, most);
  // Where one processor does all, it rarely leaves a short transfer half done.
  Looks looks;
  uint64_t bytes = std::min<uint64_t>(8192, most);
  for (; looks.torn == 0 && bytes <= most && !HasFailure(); bytes *= 8) {
    looks = ReadWhileWritten(reader->channel(), writer->channel(), at, static_cast<uint32_t>(bytes),
                             1'000'000'000);
  }
  RecordProperty("torn_at_bytes", std::to_string(bytes / 8));
  EXPECT_GT(looks.torn, 0u) << "of " << looks.whole << " READs: this run has shown nothing";
}

// Several sessions, several chains of each in flight, all on one word.
TEST_F(WordsTest, FetchAddsOfSeveralSessionsAddUp) {
  auto seats = OpenSeveral(3);
  const uint64_t word = Take(*seats[0], 8);
  StoreWordAt(seats[0]->channel(), word, 0);
  const uint64_t batches = Rounds(40);
  constexpr uint32_t kInFlight = 8;
  std::vector<std::vector<uint64_t>> found(seats.size());
  std::vector<std::thread> threads;
  for (size_t s = 0; s < seats.size(); ++s) {
    threads.emplace_back([&, s] {
      Channel& channel = seats[s]->channel();
      for (uint64_t batch = 0; batch < batches; ++batch) {
        Chain chains[kInFlight];
        for (Chain& each : chains) {
          each.FetchAdd(word, 1);
          each.FetchAdd(word, 1);
          channel.Post(&each);
        }
        for (const Chain* each : TakeBack(channel, kInFlight)) {
          EXPECT_EQ(each->outcome, ChainOutcome::kDone);
          found[s].push_back(each->work[0].result);
          found[s].push_back(each->work[1].result);
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  const uint64_t total = seats.size() * batches * kInFlight * 2;
  EXPECT_EQ(FetchWord(seats[0]->channel(), word), total);
  // Each word between was seen once.
  std::vector<uint64_t> all;
  for (const auto& each : found) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  std::vector<uint64_t> expected(total);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST_F(WordsTest, CompareSwapsAndFetchAddsOfSeveralSessionsAddUp) {
  auto seats = OpenSeveral(3);
  const uint64_t word = Take(*seats[0], 8);
  StoreWordAt(seats[0]->channel(), word, 0);
  const uint64_t rounds = traits().executes_in_poll ? 300'000 : 300;
  std::barrier<> start(static_cast<ptrdiff_t>(seats.size()));
  std::atomic<uint64_t> failed_swaps{0};
  std::vector<std::thread> threads;
  for (size_t s = 0; s < seats.size(); ++s) {
    threads.emplace_back([&, s] {
      Channel& channel = seats[s]->channel();
      start.arrive_and_wait();
      uint64_t last = 0;
      for (uint64_t done = 0; done < rounds;) {
        Chain chain;
        const bool swap = done % 2 == 0;
        if (swap) {
          chain.CompareSwap(word, last, last + 1);
        } else {
          chain.FetchAdd(word, 1);
        }
        if (Carry(channel, chain) != ChainOutcome::kDone) return ADD_FAILURE() << channel.broken();
        const uint64_t found = chain.work[0].result;
        EXPECT_GE(found, last) << "a word that only grows was seen to shrink";
        const bool added = !swap || chain.Swapped(0);
        if (!added) ++failed_swaps;
        last = added ? found + 1 : found;
        done += added;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(FetchWord(seats[0]->channel(), word), seats.size() * rounds);
  EXPECT_GT(failed_swaps, 0u) << "the sessions never met";
}

}  // namespace
}  // namespace dunlin::testing
