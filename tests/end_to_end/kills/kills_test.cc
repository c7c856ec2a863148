#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/end_to_end/kills/progress_page.h"
#include "tests/support/environment.h"
#include "tests/support/heap_account.h"
#include "tests/support/store_fixture.h"

extern char** environ;

// Writers killed by the thousand in the middle of writes, and then every byte of the heap accounted
// for. TEST_KILLS (1000) or TEST_SECONDS (30) end it, whichever comes first; TEST_SEED repeats its
// choices.

namespace dunlin::testing {
namespace {

constexpr uint64_t kKeys = 5000;
constexpr size_t kWriters = 4;

int64_t Now() { return SystemClock().NowNanos(); }

class Writer {
 public:
  Writer(const ServerProcess& server, uint64_t number, uint64_t seed)
      : file_(server.folder() + "/progress-" + std::to_string(number)), page_(file_) {
    std::vector<std::string> words = {DUNLIN_WRITER_BINARY, server.target(), file_,
                                      std::to_string(seed), std::to_string(kKeys)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, words[0].c_str(), nullptr, nullptr, argv.data(), environ), 0);
    pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Writer() {
    Kill();
    unlink(file_.c_str());
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  int pidfd() const { return pidfd_.get(); }
  uint64_t writes() const { return page_.writes(); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  int64_t kill_at = 0;  // 0: not before it has written

 private:
  const std::string file_;
  ProgressPage page_;
  UniqueFd pidfd_;
  pid_t pid_ = -1;
};

class KillsTest : public StoreFixture {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(StartStore({"--grace", "100ms"}, "256MiB")); }

  void KillWriters(uint64_t kills, int64_t end, Random& random) {
    std::vector<std::unique_ptr<Writer>> writers(kWriters);
    uint64_t number = 0, written = 0;
    while (killed_ < kills && Now() < end) {
      std::vector<pollfd> waited;
      for (auto& writer : writers) {
        if (writer == nullptr) writer = std::make_unique<Writer>(*server_, ++number, random.Next());
        waited.push_back({writer->pidfd(), POLLIN, 0});
      }
      ASSERT_EQ(poll(waited.data(), waited.size(), 1), 0) << "a writer ended by itself\n"
                                                          << server_->Log();
      for (auto& writer : writers) {
        const int64_t now = Now();
        if (writer->kill_at == 0 && writer->writes() > 0) {
          writer->kill_at = now + static_cast<int64_t>(random.Below(15'000'000));
        }
        if (writer->kill_at == 0 || now < writer->kill_at) continue;
        writer->Kill();
        written += writer->writes();
        ++killed_;
        writer.reset();
      }
    }
    writers.clear();
    std::cout << killed_ << " kills, " << written << " writes" << std::endl;
    EXPECT_GT(killed_, 20u);
  }

  HeapAccount Account(std::vector<std::string>* keys = nullptr) {
    const Milliseconds patience(60'000);
    auto status = AwaitRest(*client_, OwnSessions(), patience);
    EXPECT_TRUE(status.ok()) << status.status() << "\n" << server_->Log();
    HeapAccount account = AccountForHeap(*client_, *session_, patience, keys);
    for (const std::string& fault : account.faults) ADD_FAILURE() << fault;
    return account;
  }

  uint64_t killed_ = 0;
};

TEST_F(KillsTest, EveryByteIsAccountedFor) {
  const uint64_t seed = NumberFromEnvironment("TEST_SEED", std::random_device()());
  std::cout << FabricUnderTest().name << ", seed " << seed << std::endl;
  Random random(seed);
  const auto seconds = static_cast<int64_t>(NumberFromEnvironment("TEST_SECONDS", 30));
  ASSERT_NO_FATAL_FAILURE(KillWriters(NumberFromEnvironment("TEST_KILLS", 1000),
                                      Now() + seconds * 1'000'000'000, random));
  std::vector<std::string> keys;
  const HeapAccount account = Account(&keys);
  const ServerStatus& status = account.status;
  std::cout << account.records << " records, " << account.bytes << " bytes, "
            << account.oversize_bytes() << " more in larger blocks than needed, "
            << status.patrol.swept_blocks << " blocks swept, " << status.patrol.locks_released
            << " locks released, " << status.sessions_lost << " sessions lost" << std::endl;
  // What only a sweep finds was there: without it the account would not have come out even.
  if (killed_ >= 500) {
    EXPECT_GT(status.patrol.swept_blocks, 0u);
  }
  // Nothing holds on to what is there, either.
  for (const std::string& key : keys) EXPECT_TRUE(session_->Remove(key).ok()) << key;
  session_.reset();
  session_ = *client_->OpenSession();
  const HeapAccount empty = Account();
  EXPECT_EQ(empty.status.heap_used_bytes, 0u);
}

}  // namespace
}  // namespace dunlin::testing
