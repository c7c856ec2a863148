// A process that makes snapshots is killed again and again, at any step and at any moment: what it
// had said to be there is there, and what is there is what one pass saw.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/unique_fd.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin {
namespace {

using testing::WhatIsWrong;

class Writer {
 public:
  Writer(const std::string& dir, uint64_t passes, uint64_t step) {
    std::array<int, 2> ends;
    DUNLIN_CHECK(pipe(ends.data()) == 0);
    child_ = fork();
    DUNLIN_CHECK(child_ >= 0);
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl(KILLED_WRITER, KILLED_WRITER, dir.c_str(), std::to_string(passes).c_str(),
            std::to_string(step).c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_.Reset(ends[0]);
  }

  void Kill() { kill(child_, SIGKILL); }

  // Waits for its end. The last pass that it committed, 0 if there was none.
  uint64_t Wait(int* status) {
    std::string text;
    char buffer[512];
    for (ssize_t n; (n = read(output_.get(), buffer, sizeof buffer)) > 0;) text.append(buffer, n);
    DUNLIN_CHECK(waitpid(child_, status, 0) == child_);
    if (text.empty()) return 0;
    const size_t line = text.rfind('\n', text.size() - 2);
    return std::strtoull(text.c_str() + (line == std::string::npos ? 0 : line + 1), nullptr, 10);
  }

 private:
  pid_t child_ = 0;
  UniqueFd output_;
};

class SnapshotKillTest : public ::testing::Test {
 protected:
  void ExpectKilledOrDone(int status) {
    EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
                (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        << status;
  }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  const std::string dir_ = folder_.path() + "/snapshots";
  const uint64_t rounds_ = testing::NumberFromEnvironment("TEST_ROUNDS", 100);
  Random random_{testing::NumberFromEnvironment("TEST_SEED", 1)};
};

TEST_F(SnapshotKillTest, AtAnyStep) {
  uint64_t committed = 0;
  uint64_t kills = 0;
  for (uint64_t round = 0; round < rounds_ && !HasFailure(); ++round) {
    const uint64_t step = random_.Between(1, 700);
    SCOPED_TRACE("round " + std::to_string(round) + ", step " + std::to_string(step));
    int status = 0;
    committed = std::max(committed, Writer(dir_, 4, step).Wait(&status));
    ExpectKilledOrDone(status);
    kills += WIFSIGNALED(status);
    EXPECT_EQ(WhatIsWrong(dir_, committed), "");
  }
  EXPECT_GT(kills, rounds_ / 2);
  EXPECT_GT(committed, 0u);
}

TEST_F(SnapshotKillTest, AtAnyMoment) {
  // How long it takes to start and to make some snapshots, here and now.
  const auto began = std::chrono::steady_clock::now();
  int first_status = 0;
  uint64_t committed = Writer(dir_, 3, 0).Wait(&first_status);
  const auto enough = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  EXPECT_EQ(committed, 3u);
  for (uint64_t round = 0; round < rounds_ && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Writer writer(dir_, 1000, 0);
    // sleeps to die at a moment of its own in each round
    std::this_thread::sleep_for(std::chrono::microseconds(random_.Between(0, enough.count())));
    writer.Kill();
    int status = 0;
    committed = std::max(committed, writer.Wait(&status));
    ExpectKilledOrDone(status);
    EXPECT_EQ(WhatIsWrong(dir_, committed), "");
  }
}

}  // namespace
}  // namespace dunlin
