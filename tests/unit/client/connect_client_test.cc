#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dunlin/client.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/client/fake_server_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

int MappedRegions() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:region") != std::string::npos ? 1 : 0;
  }
  return count;
}

ClientOptions Named(std::string name) {
  ClientOptions options;
  options.name = std::move(name);
  options.connect_deadline = Milliseconds(20'000);
  return options;
}

class ClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect() {
    auto client = Client::Connect(server_.target(), Named("tester"));
    DUNLIN_CHECK_OK(client);
    return *std::move(client);
  }

  FakeServer server_;
};

TEST_F(ClientTest, TheFirstSessionIsTheOneThatConnectOpened) {
  const auto client = Connect();
  EXPECT_EQ(server_.hellos(), 1);
  const auto first = client->OpenSession();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(server_.hellos(), 1);
  const auto second = client->OpenSession();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(server_.hellos(), 2);
  EXPECT_EQ(MappedRegions(), 1);
  EXPECT_EQ((*second)->max_value_bytes(), 1u << 20);
}

TEST_F(ClientTest, EverySessionSaysGoodbye) {
  {
    const auto client = Connect();
    { const auto session = client->OpenSession(); }
    EXPECT_EQ(server_.goodbyes(), 1);
    { const auto session = client->OpenSession(); }
    EXPECT_EQ(server_.goodbyes(), 2);
  }
  EXPECT_EQ(server_.goodbyes(), 2);
  Connect();  // and one that was never used
  EXPECT_EQ(server_.goodbyes(), 3);
  EXPECT_EQ(MappedRegions(), 0);
}

TEST_F(ClientTest, LayoutIsTheRegions) {
  const auto client = Connect();
  const RegionLayout layout = client->Layout();
  const Superblock s = TestSuperblock();
  EXPECT_EQ(layout.layout_version, kLayoutVersion);
  EXPECT_EQ(layout.incarnation, 77u);
  EXPECT_EQ(layout.region_bytes, s.region_bytes);
  EXPECT_EQ(layout.session_offset, s.session_offset);
  EXPECT_EQ(layout.directory_offset, s.directory_offset);
  EXPECT_EQ(layout.index_offset, s.index_offset);
  EXPECT_EQ(layout.heap_offset, s.heap_offset);
  EXPECT_EQ(layout.index_bytes, s.index_bytes);
  EXPECT_EQ(layout.heap_bytes, s.heap_bytes);
  EXPECT_EQ(layout.session_words, 64u);
  EXPECT_EQ(layout.slots_per_bucket, 15u);
  EXPECT_EQ(layout.buckets_per_subtable, 32u);
  EXPECT_EQ(layout.directory_depth, 0u);
}

TEST_F(ClientTest, PingAndStatusNeedNoSession) {
  const auto client = Connect();
  const auto pong = client->Ping();
  ASSERT_TRUE(pong.ok()) << pong.status();
  EXPECT_EQ(pong->release, "9.8.7");
  EXPECT_GT(pong->round_trip.count(), 0);
  const auto status = client->Status(true);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->release, "9.8.7");
  EXPECT_EQ(status->state, "serving");
  EXPECT_TRUE(status->counted);
  EXPECT_EQ(status->items, 12u);
  EXPECT_EQ(status->heap_bytes, 1u);
  EXPECT_EQ(status->heap_used_bytes, 2u);
  EXPECT_EQ(status->heap_grace_bytes, 3u);
  EXPECT_EQ(status->heap_free_bytes, 4u);
  ASSERT_EQ(status->classes.size(), 1u);
  EXPECT_EQ(status->classes[0].block_bytes, 104u);
  EXPECT_EQ(status->classes[0].blocks_used, 5u);
  EXPECT_EQ(status->classes[0].blocks_free, 6u);
  EXPECT_EQ(status->classes[0].bytes, 7u);
  ASSERT_EQ(status->sessions.size(), 1u);
  EXPECT_EQ(status->sessions[0].id, 8u);
  EXPECT_EQ(status->sessions[0].pid, 9u);
  EXPECT_EQ(status->sessions[0].name, "somebody");
  EXPECT_TRUE(status->sessions[0].in_call);
  EXPECT_EQ(status->sessions[0].in_call_ms, 10u);
  EXPECT_FALSE(client->Status(false)->counted);
  EXPECT_EQ(server_.hellos(), 1);
  EXPECT_EQ(server_.connections(), 2);
}

TEST_F(ClientTest, ARestartedServerIsFoundAgain) {
  const auto client = Connect();
  auto old_session = client->OpenSession();
  ASSERT_TRUE(old_session.ok()) << old_session.status();
  ASSERT_TRUE(client->Ping().ok());
  server_.Stop();
  EXPECT_EQ(client->Ping().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client->OpenSession().status().code(), absl::StatusCode::kUnavailable);
  server_.Start(TestSuperblock(78));
  EXPECT_TRUE(client->Ping().ok());
  auto session = client->OpenSession();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(client->Layout().incarnation, 78u);
  // The old session keeps the old region until it is gone.
  EXPECT_EQ(MappedRegions(), 2);
  old_session->reset();
  EXPECT_EQ(MappedRegions(), 1);
}

TEST_F(ClientTest, AServerThatRestartsBeforeTheFirstSession) {
  const auto client = Connect();
  server_.Stop();
  server_.Start(TestSuperblock(78));
  const auto session = client->OpenSession();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(client->Layout().incarnation, 78u);
}

TEST_F(ClientTest, WhyThereIsNoSession) {
  server_.refuse_hello = true;
  absl::Status status = Client::Connect(server_.target(), Named("")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.ToString(), HasSubstr("64 sessions are open"));
  server_.refuse_hello = false;

  server_.session_word = 64;
  status = Client::Connect(server_.target(), Named("")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("expected one of 64, found 64"));
  server_.session_word = 63;
  EXPECT_TRUE(Client::Connect(server_.target(), Named("")).ok());

  server_.Stop();
  Superblock newer = TestSuperblock();
  newer.layout_version = kLayoutVersion + 1;
  SealSuperblock(newer);
  server_.Start(newer);
  status = Client::Connect(server_.target(), Named("")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("layout version"));

  server_.Stop();
  EXPECT_EQ(Client::Connect(server_.target(), Named("")).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, AServerThatDoesNotAnswerMissesTheDeadline) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/socket";
  const UniqueFd mute(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(mute.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(mute.get(), 4), 0);
  ClientOptions options;
  options.connect_deadline = Milliseconds(50);
  EXPECT_EQ(Client::Connect("shm://" + path, options).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, AChildIsRefusedAndHarmsNothing) {
  auto client = Connect();
  auto session = client->OpenSession().value();
  ASSERT_TRUE(client->Ping().ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    using Code = absl::StatusCode;
    if (client->OpenSession().status().code() != Code::kFailedPrecondition) ::_exit(1);
    if (client->Ping().status().code() != Code::kFailedPrecondition) ::_exit(2);
    if (client->Status().status().code() != Code::kFailedPrecondition) ::_exit(3);
    if (client->Layout().incarnation != 77) ::_exit(4);
    if (session->Get("key").status().code() != Code::kFailedPrecondition) ::_exit(5);
    session.reset();
    client.reset();
    ::_exit(0);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
  EXPECT_EQ(server_.goodbyes(), 0);
  EXPECT_TRUE(client->Ping().ok());
  EXPECT_TRUE(client->OpenSession().ok());
}

// The session that Connect opened is the parent's, too.
TEST_F(ClientTest, AChildEndsNoSessionOfItsParent) {
  auto client = Connect();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    client.reset();
    ::_exit(0);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  const auto session = client->OpenSession();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(server_.hellos(), 1);
  EXPECT_EQ(server_.goodbyes(), 0);
}

TEST_F(ClientTest, ServesManyThreads) {
  const auto client = Connect();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(client->OpenSession().ok());
        EXPECT_TRUE(client->Ping().ok());
        EXPECT_EQ(client->Layout().incarnation, 77u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_.hellos(), 80);
  EXPECT_EQ(server_.goodbyes(), 80);
  EXPECT_EQ(MappedRegions(), 1);
}

}  // namespace
}  // namespace dunlin
