// Sessions come and go, orderly or not: what they leave behind, what a drain waits for, and what an
// idle server costs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "common/layout/bucket.h"
#include "common/layout/checksum.h"
#include "common/layout/geometry.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"
#include "common/protocol/record_view.h"
#include "tests/end_to_end/server/raw_client.h"
#include "tests/support/server_process.h"

namespace dunlin::testing {
namespace {

constexpr uint32_t kClass = 10;  // 104 bytes

std::unique_ptr<ServerProcess> Start(std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--grace", "40ms"});
  auto server = ServerProcess::Start(
      {.binary = DUNLIN_SERVER_BINARY, .memory = "64MiB", .more = std::move(more)});
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

// A process that carries out `act` and then waits to be killed.
class ClientProcess {
 public:
  explicit ClientProcess(const std::function<bool()>& act) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      char ok = act() ? 1 : 0;
      ok_ = write(ends[1], &ok, 1) == 1;
      for (;;) pause();
    }
    close(ends[1]);
    char ok = 0;
    ok_ = read(ends[0], &ok, 1) == 1 && ok == 1;
    close(ends[0]);
  }
  ~ClientProcess() { Kill(); }
  bool ok() const { return ok_; }
  void Stop() {
    kill(pid_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  // Whether it has ended by SIGKILL, which was not ours.
  bool WasKilled() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return false;
    pid_ = -1;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool ok_ = false;
};

// Writes a record of that key into the block, and links it where its key belongs.
bool LinkRecord(RawClient& raw, uint64_t block_word, std::string_view name) {
  const Geometry g = Geometry::Of(raw.superblock());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(name));
  const Key key{bytes.data(), static_cast<uint32_t>(bytes.size()), HashKey(bytes, g.hash_seed)};
  const DirectoryRoot root(LoadWord(&raw.superblock().directory_root));
  const DirectoryView directory{
      reinterpret_cast<const uint64_t*>(raw.region() + root.region_offset()), root.depth(),
      root.epoch()};
  const Block block{SlotWord(block_word), 1};
  ComposeHead(raw.region() + g.RecordAddress(block.word), block, true, 0, key, {});
  const uint64_t slot = g.SlotAddress(Place(g, directory, key.hash).bucket[0], 0);
  const uint64_t word = block.word.WithFingerprint(FingerprintOf(key.hash)).raw();
  return CompareSwapWord(raw.region() + slot, 0, word) == 0;
}

uint64_t Used(RawClient& client) { return client.Status()->heap_used_bytes(); }

TEST(ServerSessions, AKilledClientLeavesNeitherLocksNorBlocks) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient watcher(server->socket());
  ASSERT_TRUE(watcher.Hello());
  std::byte* bucket = watcher.region() + watcher.superblock().index_offset + 5 * kBucketBytes;
  uint64_t free = LoadWord(bucket);

  ClientProcess client([&] {
    RawClient raw(server->socket());
    if (!raw.Hello()) return false;
    auto blocks = raw.TakeBlocks(kClass, 100);
    if (!blocks || blocks->words.size() != 100) return false;
    std::byte* mine = raw.region() + raw.superblock().index_offset + 5 * kBucketBytes;
    uint32_t id = raw.hello().session_id();
    if (CompareSwapWord(mine, free, BucketHeader(free).HeldBy(id, 1).raw()) != free) return false;
    // One of the blocks gets linked; the connection stays open: leaked on purpose.
    if (!LinkRecord(raw, blocks->words[7], "key")) return false;
    StoreWord(raw.region() + raw.superblock().session_offset +
                  raw.hello().session_word() * kSessionWordBytes,
              raw.tick());
    (void)fcntl(raw.socket_fd(), F_DUPFD, 100);
    return true;
  });
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(BucketHeader(LoadWord(bucket)).held());
  client.Kill();
  EXPECT_TRUE(Eventually([&] { return LoadWord(bucket) == free; })) << "the lock is released";
  EXPECT_TRUE(Eventually([&] {
    auto status = watcher.Status();
    return status->heap_used_bytes() == 104 && status->heap_grace_bytes() == 0;
  })) << "all blocks but the linked one are free again";
  EXPECT_EQ(watcher.Status(true)->items(), 1u);
  EXPECT_EQ(watcher.Status()->sessions_size(), 1);
}

TEST(ServerSessions, AClientThatStopsWithALockIsKilledWhenOthersWaitForIt) {
  auto server = Start({"--lock-patience", "300ms"});
  ASSERT_NE(server, nullptr);
  RawClient waiter(server->socket());
  ASSERT_TRUE(waiter.Hello());
  const uint64_t address = waiter.superblock().index_offset + 5 * kBucketBytes;
  const uint64_t free = LoadWord(waiter.region() + address);

  ClientProcess client([&] {
    RawClient raw(server->socket());
    if (!raw.Hello()) return false;
    const uint32_t id = raw.hello().session_id();
    (void)fcntl(raw.socket_fd(), F_DUPFD, 100);
    return CompareSwapWord(raw.region() + address, free, BucketHeader(free).HeldBy(id, 1).raw()) ==
           free;
  });
  ASSERT_TRUE(client.ok());
  client.Stop();
  const auto examine = [&] {
    const ExamineLock request{address, LoadWord(waiter.region() + address)};
    EXPECT_TRUE(waiter.Send(LaneKind::kExamineLock,
                            {reinterpret_cast<const char*>(&request), sizeof request}));
    EXPECT_TRUE(waiter.Receive());
    return LoadWord(waiter.region() + address) == free;
  };
  EXPECT_FALSE(examine()) << "it has some time";
  EXPECT_TRUE(Eventually(examine)) << server->Log();
  EXPECT_TRUE(client.WasKilled());
  EXPECT_EQ(waiter.Status()->sessions_killed(), 1u);
}

TEST(ServerSessions, AHangUpAloneFreesNothing) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient watcher(server->socket());
  ClientProcess client([&] {
    RawClient raw(server->socket());
    if (!raw.Hello() || !raw.TakeBlocks(kClass, 10)) return false;
    raw.HangUp();
    return true;
  });
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(Eventually([&] { return watcher.Status()->sessions_lost() == 1; }));
  poll(nullptr, 0, 300);  // many grace periods: time for it to go wrong
  EXPECT_EQ(Used(watcher), 10u * 104) << "the process may be in the midst of a chain";
  client.Kill();
  EXPECT_TRUE(Eventually([&] { return Used(watcher) == 0; }));
}

TEST(ServerSessions, AGoodbyeThatLeavesBlocksIsRecoveredFrom) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient watcher(server->socket());
  RawClient client(server->socket());
  ASSERT_TRUE(client.Hello());
  ASSERT_TRUE(client.TakeBlocks(kClass, 10));
  EXPECT_EQ(Used(watcher), 10u * 104);
  ASSERT_TRUE(client.Goodbye());
  EXPECT_TRUE(Eventually([&] { return Used(watcher) == 0; }));
}

TEST(ServerSessions, ReadOnlySessionsGetNoBlocksAndNoWritableMapping) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient client(server->socket());
  ASSERT_TRUE(client.Hello(true));
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, client.region_fd(), 0),
            MAP_FAILED);
  auto blocks = client.TakeBlocks(kClass, 1);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->reply.outcome, static_cast<uint32_t>(BlocksOutcome::kRefused));
}

TEST(ServerSessions, TheLimitOfSessionsIsSaid) {
  auto server = Start({"--max-sessions", "2"});
  ASSERT_NE(server, nullptr);
  RawClient one(server->socket());
  RawClient two(server->socket());
  RawClient three(server->socket());
  ASSERT_TRUE(one.Hello());
  ASSERT_TRUE(two.Hello());
  control::ControlRequest request;
  request.mutable_hello()->set_layout_version(kLayoutVersion);
  auto reply = three.Call(request);
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->message(), ::testing::HasSubstr("max-sessions"));
  ASSERT_TRUE(one.Goodbye());
  EXPECT_TRUE(three.Hello());
}

TEST(ServerSessions, SigtermWithoutSessionsStopsAtOnce) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient idle(server->socket());  // a connection without a session doesn't count
  ASSERT_TRUE(idle.Ping());
  SystemClock clock;
  int64_t start = clock.NowNanos();
  EXPECT_EQ(server->Terminate(), 0);
  EXPECT_LT(clock.NowNanos() - start, 3'000'000'000);
  EXPECT_FALSE(std::filesystem::exists(server->socket()));
  EXPECT_TRUE(idle.IsClosed());
}

TEST(ServerSessions, SigtermDrains) {
  auto server = Start({"--drain-timeout", "60s"});
  ASSERT_NE(server, nullptr);
  RawClient client(server->socket());
  ASSERT_TRUE(client.Hello());
  kill(server->pid(), SIGTERM);
  ASSERT_TRUE(Eventually([&] { return client.state() == ServerState::kDraining; }));
  auto blocks = client.TakeBlocks(kClass, 1);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->reply.outcome, static_cast<uint32_t>(BlocksOutcome::kDraining));
  EXPECT_FALSE(RawClient(server->socket()).Hello()) << "no new sessions";
  EXPECT_EQ(client.Status()->state(), "draining");
  ASSERT_TRUE(client.Goodbye());
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(client.state(), ServerState::kStopped);
  EXPECT_EQ(server->Terminate(), 0);
}

TEST(ServerSessions, ADrainEndsAfterItsTimeout) {
  auto server = Start({"--drain-timeout", "200ms"});
  ASSERT_NE(server, nullptr);
  RawClient client(server->socket());
  ASSERT_TRUE(client.Hello());
  EXPECT_EQ(server->Terminate(), 0);
  EXPECT_EQ(client.state(), ServerState::kStopped);
  EXPECT_THAT(server->Log(), ::testing::HasSubstr("1 sessions were still open"));
}

TEST(ServerSessions, TheTickIsFreshAndIdleCostsNearlyNothing) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  poll(nullptr, 0, 250);  // nobody there: the tick may be slow
  RawClient client(server->socket());
  ASSERT_TRUE(client.Hello());
  SystemClock clock;
  uint64_t tick = client.tick();
  int64_t start = clock.NowNanos();
  int64_t cpu = server->CpuNanos();
  poll(nullptr, 0, 2000);
  int64_t passed = (clock.NowNanos() - start) / 1'000'000;
  int64_t ticks = static_cast<int64_t>(client.tick() - tick);
  EXPECT_NEAR(static_cast<double>(ticks), static_cast<double>(passed), 100);
  // The aim is 1 % of a core; twice that leaves room for a busy machine.
  EXPECT_LT(server->CpuNanos() - cpu, passed * 1'000'000 / 50);
  RecordProperty("cpu_micros_per_second", std::to_string((server->CpuNanos() - cpu) / passed));
}

}  // namespace
}  // namespace dunlin::testing
