#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "dunlin/client.h"
#include "tests/support/server_process.h"

// Who executes the atomics of a server that serves RDMA, and what it refuses.

namespace dunlin {
namespace {

using ::testing::HasSubstr;
using testing::ServerProcess;

class AtomicDomainTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ::setenv("TEST_FABRIC", GetParam().c_str(), 1);
    fabric_ = testing::FabricUnderTest();
    if (fabric_.name != "rdma") GTEST_SKIP() << "no " << GetParam() << " device here";
  }
  absl::StatusOr<std::unique_ptr<ServerProcess>> Start(std::vector<std::string> more) {
    return ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY,
                                 .memory = "64MiB",
                                 .more = std::move(more),
                                 .fabric = fabric_});
  }
  // The address that the log gives for TCP.
  static std::string TcpTarget(const ServerProcess& server) {
    const std::string log = server.Log();
    const size_t at = log.find("tcp://");
    return at == std::string::npos ? "" : log.substr(at, log.find('\n', at) - at);
  }
  // Adds to one counter through all of the targets at once; what it then is.
  static int64_t AddThroughAll(const std::vector<std::string>& targets, int each) {
    std::vector<std::thread> threads;
    for (const std::string& target : targets) {
      threads.emplace_back([&target, each] {
        auto client = Client::Connect(target);
        ASSERT_TRUE(client.ok()) << client.status();
        auto session = (*client)->OpenSession();
        ASSERT_TRUE(session.ok()) << session.status();
        for (int i = 0; i < each; ++i) {
          const WriteResult added =
              (*session)->Add(AsBytes("n"), 1, {.initial = 0, .deadline = Milliseconds(60'000)});
          ASSERT_TRUE(added.ok()) << target << ": " << OutcomeName(added.outcome);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    auto client = Client::Connect(targets.front());
    if (!client.ok()) return -1;
    auto session = (*client)->OpenSession();
    if (!session.ok()) return -1;
    auto entry = (*session)->Get("n");
    return entry.ok() ? std::atoll(entry->value.c_str()) : -1;
  }
  bool HasAtomics() const { return GetParam() == "rxe"; }

  testing::TestFabric fabric_;
};

TEST_P(AtomicDomainTest, TheAdapterIfItCanAndAllComeThroughIt) {
  auto server = Start({});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string target = "shm://" + (*server)->socket();
  auto shm = Client::Connect(target);
  ClientOptions asking;
  asking.sessions = false;
  auto admin = Client::Connect(target, asking);
  ASSERT_TRUE(admin.ok()) << admin.status();
  auto status = (*admin)->Status();
  ASSERT_TRUE(status.ok()) << status.status();
  if (!HasAtomics()) {
    EXPECT_THAT((*server)->Log(), HasSubstr("atomics are executed by this processor"));
    EXPECT_EQ(status->atomic_domain, "cpu");
    EXPECT_TRUE(shm.ok()) << shm.status();
    return;
  }
  EXPECT_THAT((*server)->Log(), HasSubstr("atomics are executed by the adapter"));
  EXPECT_EQ(status->atomic_domain, "nic");
  EXPECT_EQ(shm.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(shm.status().message()), HasSubstr("--shm-sessions=always"));
}

TEST_P(AtomicDomainTest, OneAgentForSessionsOfEveryKind) {
  auto server = Start({"--tcp", "127.0.0.1:0", "--shm-sessions", "always"});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->Log(), HasSubstr("atomics are executed by this processor"));
  constexpr int kEach = 200;
  const std::vector<std::string> targets = {(*server)->target(), TcpTarget(**server),
                                            "shm://" + (*server)->socket()};
  EXPECT_EQ(AddThroughAll(targets, kEach), 3 * kEach);
}

TEST_P(AtomicDomainTest, SessionsThroughTheAdapterAlone) {
  auto server = Start({});
  ASSERT_TRUE(server.ok()) << server.status();
  constexpr int kEach = 200;
  EXPECT_EQ(AddThroughAll({(*server)->target(), (*server)->target(), (*server)->target()}, kEach),
            3 * kEach);
}

TEST_P(AtomicDomainTest, TwoAgentsAreRefused) {
  auto server = Start({"--tcp", "127.0.0.1:0", "--atomics", "nic"});
  ASSERT_FALSE(server.ok());
  const std::string why(server.status().message());
  EXPECT_THAT(why, HasSubstr("the atomic domain 'nic' was asked for"));
  EXPECT_THAT(why, HasSubstr(HasAtomics() ? "tcp" : "no atomics"));
}

TEST_P(AtomicDomainTest, AnAdapterWithoutAtomicsCannotBeForced) {
  auto server = Start({"--atomics", "nic"});
  EXPECT_EQ(server.ok(), HasAtomics());
  if (!server.ok()) {
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("no atomics"));
  }
}

// What an expired record's judge does, and what frees a killed client's locks, goes through the
// same agent: here a session that may not write asks the server to expire.
TEST_P(AtomicDomainTest, TheServersOwnChanges) {
  auto server = Start({});
  ASSERT_TRUE(server.ok()) << server.status();
  auto writer = Client::Connect((*server)->target());
  ClientOptions read_only;
  read_only.read_only = true;
  auto reader = Client::Connect((*server)->target(), read_only);
  ASSERT_TRUE(writer.ok() && reader.ok());
  auto writing = (*writer)->OpenSession();
  auto reading = (*reader)->OpenSession();
  ASSERT_TRUE(writing.ok() && reading.ok());
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_TRUE((*writing)->Put(key, "v", {.ttl = Milliseconds(30)}).ok());
    while ((*reading)->Get(key).ok()) {
    }
    EXPECT_EQ((*reading)->Get(key).status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_EQ((*writer)->Status(true)->items, 0u);
}

INSTANTIATE_TEST_SUITE_P(Devices, AtomicDomainTest, ::testing::Values("rxe", "siw"),
                         [](const auto& device) { return device.param; });

}  // namespace
}  // namespace dunlin
