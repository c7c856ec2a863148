#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/support/store_fixture.h"

extern char** environ;

// Client processes killed in the middle of what they do, on the fabric under test.

namespace dunlin {
namespace {

using std::chrono::steady_clock;
using testing::ServerProcess;

class Writer {
 public:
  Writer(const ServerProcess& server, int sessions, const std::string& id)
      : file_(server.folder() + "/writer-" + id) {
    std::vector<std::string> words = {DUNLIN_WRITER_BINARY, server.target(), file_,
                                      std::to_string(sessions), id};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, words[0].c_str(), nullptr, nullptr, argv.data(), environ), 0);
  }
  ~Writer() { Kill(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // How many additions were acknowledged to it, as far as it could tell us.
  uint64_t Acknowledged() const {
    uint64_t count = 0;
    std::ifstream(file_, std::ios::binary).read(reinterpret_cast<char*>(&count), sizeof count);
    return count;
  }
  bool Runs() {
    int status = 0;
    if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) == 0) return pid_ > 0;
    pid_ = -1;
    return false;
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  const std::string file_;
  pid_t pid_ = -1;
};

class DeathTest : public testing::StoreFixture {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(StartStore({"--grace", "100ms"}));
    ASSERT_TRUE(session_->Add(AsBytes("sum"), 0, {.initial = 0}).ok());
  }

  // Until only ours are left; what there was then.
  ServerStatus AwaitRecovery() {
    ServerStatus last;
    for (auto end = steady_clock::now() + std::chrono::seconds(30); steady_clock::now() < end;) {
      auto status = client_->Status(true);
      EXPECT_TRUE(status.ok()) << status.status();
      if (!status.ok()) break;
      last = *status;
      if (last.sessions.size() <= OwnSessions() && last.locks_held == 0) break;
    }
    return last;
  }

  void AwaitProgress(Writer& writer, uint64_t additions) {
    const auto end = steady_clock::now() + std::chrono::seconds(30);
    while (writer.Acknowledged() < additions) {
      ASSERT_TRUE(writer.Runs()) << "the writer ended: " << server_->Log();
      ASSERT_LT(steady_clock::now(), end);
    }
  }
};

TEST_F(DeathTest, KilledWritersLeaveTheirLastWriteDoneOrNotAndNothingElse) {
  constexpr int kRounds = 12;
  constexpr int kWriters = 3;
  Random random(1);
  uint64_t acknowledged = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Writer>> writers;
    for (int i = 0; i < kWriters; ++i) {
      writers.push_back(
          std::make_unique<Writer>(*server_, 1, std::to_string(round) + "-" + std::to_string(i)));
    }
    for (auto& writer : writers) {
      ASSERT_NO_FATAL_FAILURE(AwaitProgress(*writer, 1 + random.Below(60)));
      writer->Kill();
    }
    for (auto& writer : writers) acknowledged += writer->Acknowledged();
  }
  const ServerStatus status = AwaitRecovery();
  EXPECT_EQ(status.locks_held, 0u);
  EXPECT_LE(status.sessions.size(), OwnSessions());
  std::string sum;
  ASSERT_TRUE(session_->GetString(AsBytes("sum"), &sum).ok());
  EXPECT_GE(std::stoull(sum), acknowledged);
  // Each may have been killed between an addition and telling of it.
  EXPECT_LE(std::stoull(sum), acknowledged + kRounds * kWriters);
  // Every key that is there can be read, replaced and removed.
  uint64_t cursor = 0;
  size_t keys = 0;
  for (bool done = false; !done;) {
    auto page = session_->Scan(cursor, {});
    ASSERT_TRUE(page.ok()) << page.status();
    for (const ScanEntry& entry : page->entries) {
      ASSERT_TRUE(session_->Put(entry.key, "again").ok()) << entry.key;
      ASSERT_TRUE(session_->Remove(entry.key).ok()) << entry.key;
      ++keys;
    }
    cursor = page->next;
    done = page->done;
  }
  EXPECT_GT(keys, 0u);
  EXPECT_EQ(client_->Status(true)->items, 0u);
}

TEST_F(DeathTest, TwoHundredSessionsLostAtOnce) {
  constexpr int sessions = 200;
  Writer writer(*server_, sessions, "many");
  ASSERT_NO_FATAL_FAILURE(AwaitProgress(writer, static_cast<uint64_t>(sessions)));
  EXPECT_GE(client_->Status(false)->sessions.size(), static_cast<size_t>(sessions));
  writer.Kill();
  // The others go on meanwhile.
  const auto begin = steady_clock::now();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(session_->Put("k", "v").ok());
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
  const ServerStatus status = AwaitRecovery();
  EXPECT_LE(status.sessions.size(), OwnSessions());
  EXPECT_EQ(status.locks_held, 0u);
}

}  // namespace
}  // namespace dunlin
