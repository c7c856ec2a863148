#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/base/sync.h"
#include "common/snapshot/snapshot_directory.h"
#include "tests/end_to_end/snapshots/snapshot_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/stamped_value.h"

extern char** environ;

// The server killed at random moments, while snapshots are made all the time and writers are at
// work, and then every key looked at: it is as one of its writes left it, and as none before the
// last one that was acknowledged when the newest snapshot was begun, or asked for. TEST_ROUNDS (20)
// servers are killed; TEST_SEED repeats the choices.

namespace dunlin::testing {
namespace {

int64_t UnixMillis() { return SystemClock::Shared().WallNanos() / 1'000'000; }

constexpr uint64_t kWriters = 3;
// On shared memory so many that the index is split on the way.
uint64_t KeysOfEach() { return FabricUnderTest().name == "shm" ? 8000 : 400; }

// What one writer knows of its key. Its writes are numbered; every 5th removes it, and before the
// first it isn't there either.
struct KeyHistory {
  std::string key;
  uint64_t tried = 0;   // the last write that was begun
  uint64_t acked = 0;   // the last that was acknowledged
  uint64_t oldest = 0;  // no state before this one may be found after a crash
  std::vector<std::pair<int64_t, uint64_t>> acks = {};  // of this server: unix milliseconds, write
  // When this server was started the key was as write `base` had left it, and `lost` was the last
  // write of those before.
  uint64_t base = 0;
  uint64_t lost = 0;

  static bool Removes(uint64_t write) { return write % 5 == 0; }
  bool MayBeFound(uint64_t write) const {
    return write >= oldest && write <= tried && (write == base || write > lost);
  }
  void Restart(uint64_t state) {
    base = oldest = acked = state;
    lost = tried;
    acks.clear();
  }
};

class Writer {
 public:
  Writer(uint64_t number, uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < KeysOfEach(); ++i) {
      keys_.push_back({.key = "w" + std::to_string(number) + "-" + std::to_string(i)});
    }
  }

  // Until the server is gone.
  void Run(Session& session) {
    for (;;) {
      MutexLock lock(mutex_);
      KeyHistory& history = keys_[random_.Below(keys_.size())];
      const uint64_t write = ++history.tried;
      Outcome outcome;
      if (KeyHistory::Removes(write)) {
        outcome = session.RemoveBytes(AsBytes(history.key)).outcome;
        if (outcome == Outcome::kNotFound) outcome = Outcome::kOk;
      } else {
        const uint64_t most = random_.Below(500) == 0 ? 200'000 : 600;
        const std::string value = StampedValue(history.key, write, 30 + random_.Below(most));
        outcome = session.PutBytes(AsBytes(history.key), AsBytes(value)).outcome;
      }
      if (outcome == Outcome::kMemoryFull) continue;
      if (outcome != Outcome::kOk) return;
      history.acked = write;
      history.acks.emplace_back(UnixMillis(), write);
      ++writes_;
    }
  }

  // What is acknowledged now must be in a snapshot that is asked for after this.
  std::vector<uint64_t> Acknowledged() {
    MutexLock lock(mutex_);
    std::vector<uint64_t> acked;
    for (const KeyHistory& history : keys_) acked.push_back(history.acked);
    return acked;
  }
  void HasSnapshotOf(const std::vector<uint64_t>& acked) {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i].oldest = acked[i];
  }

  // A snapshot whose pass began then holds what was acknowledged before.
  void HasSnapshotSince(int64_t unix_ms) {
    for (KeyHistory& history : keys_) {
      for (const auto& [when, write] : history.acks) {
        if (when < unix_ms) history.oldest = std::max(history.oldest, write);
      }
    }
  }

  // Every key in the server that was started again.
  void Check(Session& session) {
    for (KeyHistory& history : keys_) {
      std::string value;
      const GetResult got =
          session.GetString(AsBytes(history.key), &value, {.deadline = Milliseconds(30'000)});
      const std::optional<uint64_t> state = StateOf(history, got.outcome, value);
      ASSERT_TRUE(state.has_value())
          << history.key << ": " << OutcomeName(got.outcome) << ", " << value.size()
          << " bytes; acknowledged before the last snapshot: write " << history.oldest
          << ", tried: " << history.tried << ", found: " << StampOf(history.key, value).value_or(0);
      history.Restart(*state);
    }
  }

  uint64_t writes() const { return writes_; }

 private:
  // The write that left the key so; nothing if none can have.
  static std::optional<uint64_t> StateOf(const KeyHistory& history, Outcome outcome,
                                         const std::string& value) {
    if (outcome == Outcome::kNotFound) {
      // The last of those that it may have been: so a value before it is found out next time.
      for (uint64_t write = history.tried + 1; write-- > 0;) {
        if (KeyHistory::Removes(write) && history.MayBeFound(write)) return write;
      }
      return std::nullopt;
    }
    const std::optional<uint64_t> stamp = StampOf(history.key, value);
    if (outcome != Outcome::kOk || !stamp || !history.MayBeFound(*stamp)) return std::nullopt;
    return stamp;
  }

  Mutex mutex_;
  Random random_;
  std::vector<KeyHistory> keys_;
  std::atomic<uint64_t> writes_ = 0;
};

class KillsTest : public SnapshotFixture {
 protected:
  // A server that makes snapshots all the time, on the same directory.
  void StartNext() {
    StartOn({"--snapshot-interval", "100ms", "--records", "200", "--grace", "100ms"});
  }

  void OneRound(Random& random) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (size_t i = 0; i < writers_.size(); ++i) sessions.push_back(Open());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < writers_.size(); ++i) {
      threads.emplace_back([&, i] { writers_[i]->Run(*sessions[i]); });
    }
    round_unix_ms_ = UnixMillis();
    std::thread barriers([&] { TakeBarriers(); });
    const int64_t kill_at = NowNanos() + static_cast<int64_t>(random.Below(600'000'000));
    while (NowNanos() < kill_at) {
      // sleeps to choose the moment
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    killed_unix_ms_ = UnixMillis();
    server_->Kill();
    for (std::thread& thread : threads) thread.join();
    barriers.join();
  }

  // A server that is killed before it is ready, or just then.
  void KillAtTheStart(Random& random) {
    std::vector<std::string> words = Arguments({"--socket", disk_.path() + "/early.sock"});
    words.insert(words.begin(), DUNLIN_SERVER_BINARY);
    words.insert(words.end(), {"--memory", "64MiB"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid = -1;
    ASSERT_EQ(posix_spawn(&pid, words[0].c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    // sleeps to choose the moment
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(150'000)));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  // Nobody asked for this one, it came with the interval.
  void ExpectWhatTheNewestPromises() {
    const auto listing = ListSnapshots(dir());
    ASSERT_TRUE(listing.ok()) << listing.status();
    const ListedSnapshot* const newest = listing->NewestUsable();
    for (const ListedSnapshot& each : listing->snapshots) {
      EXPECT_TRUE(each.usable()) << each.id << ": " << each.status;
    }
    if (newest == nullptr) return;
    const int64_t began = newest->info.counts.started_unix_ms;
    for (const auto& writer : writers_) writer->HasSnapshotSince(began);
    const int64_t lost = killed_unix_ms_ - std::max(began, round_unix_ms_);
    longest_loss_ms_ = std::max(longest_loss_ms_, lost);
  }

  // Snapshots on demand, until the server is gone.
  void TakeBarriers() {
    for (;;) {
      std::vector<std::vector<uint64_t>> acked;
      for (const auto& writer : writers_) acked.push_back(writer->Acknowledged());
      if (!client_->CreateSnapshot(Milliseconds(30'000)).ok()) return;
      ++barriers_;
      for (size_t i = 0; i < writers_.size(); ++i) writers_[i]->HasSnapshotOf(acked[i]);
    }
  }

  std::vector<std::unique_ptr<Writer>> writers_;
  std::atomic<uint64_t> barriers_ = 0;
  int64_t killed_unix_ms_ = 0;
  int64_t round_unix_ms_ = 0;  // when the writers began
  int64_t longest_loss_ms_ = 0;
};

TEST_F(KillsTest, NothingThatASnapshotHeldIsLostAndNothingIsWrong) {
  const uint64_t seed = NumberFromEnvironment("TEST_SEED", std::random_device()());
  const uint64_t rounds = NumberFromEnvironment("TEST_ROUNDS", 20);
  std::cout << FabricUnderTest().name << ", seed " << seed << std::endl;
  Random random(seed);
  for (uint64_t i = 0; i < kWriters; ++i) {
    writers_.push_back(std::make_unique<Writer>(i, random.Next()));
  }
  ASSERT_NO_FATAL_FAILURE(StartNext());
  // More of them where the machine is so slow that hardly a snapshot is made in one.
  const auto enough = [&](uint64_t round) {
    return round >= rounds && (barriers_ > rounds / 4 || round >= 5 * rounds);
  };
  uint64_t round = 0;
  for (; !enough(round); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(seed));
    OneRound(random);
    if (random.Below(3) == 0) {
      ASSERT_NO_FATAL_FAILURE(KillAtTheStart(random));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWhatTheNewestPromises());
    ASSERT_NO_FATAL_FAILURE(StartNext());
    for (const auto& writer : writers_) {
      ASSERT_NO_FATAL_FAILURE(writer->Check(*session_)) << server_->Log();
    }
  }
  uint64_t writes = 0;
  for (const auto& writer : writers_) writes += writer->writes();
  std::cout << round << " kills, " << writes << " writes, " << barriers_
            << " snapshots asked for; lost: what was written within " << longest_loss_ms_
            << " ms at most" << std::endl;
  EXPECT_GT(barriers_, rounds / 4);
  EXPECT_GT(writes, rounds);
}

}  // namespace
}  // namespace dunlin::testing
