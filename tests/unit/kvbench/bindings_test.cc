#include "bench/kvbench/bindings/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/kvbench/binding.h"
#include "bench/kvbench/properties.h"
#include "common/base/clock.h"
#include "tests/unit/kvbench/bindings_peer_server.h"

namespace dunlin::kvbench {
namespace {

using dunlin::testing::PeerServer;
using ::testing::HasSubstr;

using Make = absl::StatusOr<std::unique_ptr<Binding>> (*)(const Properties&);

struct Case {
  std::string name;
  Make make = nullptr;
  // Of a server, if it needs one.
  bool served = false;
  PeerServer::Kind kind = PeerServer::Kind::kRedis;
  bool on_tcp = false;
  std::vector<std::pair<std::string, std::string>> properties = {};
  std::string described = {};         // in what it says of itself
  bool knows_what_it_deleted = true;  // whether a delete finds that there was nothing
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {.name = "rocksdb",
       .make = MakeRocksDb,
       .described = "rocksdb 7.",
       .knows_what_it_deleted = false},
      {.name = "sharded_map", .make = MakeShardedMap, .described = "256 shards"},
  };
#if KVBENCH_LIBCUCKOO
  cases.push_back({.name = "libcuckoo", .make = MakeLibcuckoo, .described = "libcuckoo"});
#endif
  for (const bool on_tcp : {false, true}) {
    const std::string where = on_tcp ? "_tcp" : "_unix";
    const std::string described = on_tcp ? ", tcp 127.0.0.1" : ", unix socket";
#if KVBENCH_REDIS
    for (const char* mget : {"true", "false"}) {
      cases.push_back({.name = "redis" + where + (mget[0] == 't' ? "" : "_pipeline"),
                       .make = MakeRedis,
                       .served = true,
                       .kind = PeerServer::Kind::kRedis,
                       .on_tcp = on_tcp,
                       .properties = {{"redis.mget", mget}},
                       .described = described});
    }
#endif
#if KVBENCH_MEMCACHED
    for (const char* protocol : {"ascii", "binary"}) {
      cases.push_back({.name = "memcached" + where + "_" + protocol,
                       .make = MakeMemcached,
                       .served = true,
                       .kind = PeerServer::Kind::kMemcached,
                       .on_tcp = on_tcp,
                       .properties = {{"memcached.protocol", protocol}},
                       .described = described});
    }
    cases.push_back({.name = "memcached" + where + "_direct",
                     .make = MakeMemcached,
                     .served = true,
                     .kind = PeerServer::Kind::kMemcached,
                     .on_tcp = on_tcp,
                     .properties = {{"memcached.client", "direct"}},
                     .described = described});
#endif
  }
  return cases;
}

Request Read(std::string_view key) { return {.op = Op::kRead, .key = key}; }
Request Update(std::string_view key, std::string_view value) {
  return {.op = Op::kUpdate, .key = key, .value = value};
}

class BindingsTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }

  void SetUp() override {
    const Case& tested = GetParam();
    Properties properties;
    for (const auto& [name, value] : tested.properties) properties.Set(name, value);
    if (tested.served) {
      auto server = PeerServer::Start(tested.kind, tested.on_tcp);
      if (absl::IsNotFound(server.status())) {
        GTEST_SKIP() << "not installed (tools/install-packages): " << server.status();
      }
      ASSERT_TRUE(server.ok()) << server.status();
      server_ = *std::move(server);
      if (tested.on_tcp) {
        const std::string port = std::to_string(server_->port());
        properties.Set("redis.port", port);
        properties.Set("memcached.hosts", "127.0.0.1:" + port);
      } else {
        properties.Set("redis.socket", server_->socket());
        properties.Set("memcached.socket", server_->socket());
      }
    }
    auto binding = tested.make(properties);
    ASSERT_TRUE(binding.ok()) << binding.status();
    binding_ = *std::move(binding);
    session_ = Open();
  }

  std::unique_ptr<BindingSession> Open() {
    auto session = binding_->Open();
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  Return Run(BindingSession& session, Request request) {
    session.Execute({&request, 1});
    return request.returned;
  }
  Return Run(Request request) { return Run(*session_, request); }

  void ExpectFound(BindingSession& session, std::string_view key, std::string_view value) {
    Request read = Read(key);
    session.Execute({&read, 1});
    ASSERT_EQ(read.returned, Return::kOk) << session.last_error();
    EXPECT_EQ(read.found, value);
  }
  void ExpectFound(std::string_view key, std::string_view value) {
    ExpectFound(*session_, key, value);
  }

  std::unique_ptr<PeerServer> server_;
  std::unique_ptr<Binding> binding_;
  std::unique_ptr<BindingSession> session_;
};

TEST_P(BindingsTest, StoresReplacesAndDeletes) {
  EXPECT_EQ(Run(Read("user1")), Return::kNotFound);
  EXPECT_EQ(Run({.op = Op::kInsert, .key = "user1", .value = "one"}), Return::kOk);
  ExpectFound("user1", "one");
  EXPECT_EQ(Run(Update("user1", "a longer value than before")), Return::kOk);
  ExpectFound("user1", "a longer value than before");
  EXPECT_EQ(Run(Update("user2", "stored without having been there")), Return::kOk);
  ExpectFound("user2", "stored without having been there");
  EXPECT_EQ(Run({.op = Op::kDelete, .key = "user1"}), Return::kOk);
  EXPECT_EQ(Run(Read("user1")), Return::kNotFound);
  const Return again = Run({.op = Op::kDelete, .key = "user1"});
  EXPECT_EQ(again, GetParam().knows_what_it_deleted ? Return::kNotFound : Return::kOk);
  ExpectFound("user2", "stored without having been there");
}

TEST_P(BindingsTest, ValuesAreAnyBytesOfAnyLength) {
  std::string every;
  for (int i = 0; i < 1024; ++i) every.push_back(static_cast<char>(i));
  const std::vector<std::string> values = {
      "", "\r\n", "END\r\n", std::string(1, '\0'), "$5\r\n", every, std::string(300'000, 'x')};
  for (const std::string& value : values) {
    ASSERT_EQ(Run(Update("user1", value)), Return::kOk) << session_->last_error();
    ExpectFound("user1", value);
  }
}

TEST_P(BindingsTest, CallOfManyReadsFindsEachItsOwn) {
  std::vector<std::string> keys;
  std::vector<Request> requests;
  for (int i = 0; i < 64; ++i) keys.push_back("user" + std::to_string(i));
  for (int i = 0; i < 64; i += 2) requests.push_back(Update(keys[i], keys[i]));
  session_->Execute(requests);
  for (const Request& request : requests) ASSERT_EQ(request.returned, Return::kOk);

  requests.clear();
  for (const std::string& key : keys) requests.push_back(Read(key));
  requests.push_back(Read(keys[2]));  // a key twice
  session_->Execute(requests);
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(requests[i].returned, i % 2 == 0 ? Return::kOk : Return::kNotFound) << i;
    if (i % 2 == 0) {
      EXPECT_EQ(requests[i].found, keys[i]);
    }
  }
  EXPECT_EQ(requests[64].returned, Return::kOk);
  EXPECT_EQ(requests[64].found, keys[2]);
}

TEST_P(BindingsTest, CallOfAllKinds) {
  for (const char* key : {"user1", "user2", "user3"}) ASSERT_EQ(Run(Update(key, key)), Return::kOk);
  std::vector<Request> requests = {
      Update("user4", "four"), Read("user1"), {.op = Op::kDelete, .key = "user3"},
      Read("user9"),           Read("user2"), {.op = Op::kInsert, .key = "user5", .value = "5"},
  };
  session_->Execute(requests);
  const std::vector<Return> expected = {Return::kOk,       Return::kOk, Return::kOk,
                                        Return::kNotFound, Return::kOk, Return::kOk};
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(requests[i].returned, expected[i]) << i;
  EXPECT_EQ(requests[1].found, "user1");
  EXPECT_EQ(requests[4].found, "user2");
  ExpectFound("user4", "four");
  ExpectFound("user5", "5");
  EXPECT_EQ(Run(Read("user3")), Return::kNotFound);
}

// More than the sockets hold, in both directions at once.
TEST_P(BindingsTest, CallLargerThanBuffers) {
  const std::string value(200'000, 'v');
  std::vector<std::string> keys;
  std::vector<Request> requests;
  for (int i = 0; i < 32; ++i) keys.push_back("user" + std::to_string(i));
  for (const std::string& key : keys) requests.push_back(Update(key, value));
  session_->Execute(requests);
  for (const Request& request : requests) ASSERT_EQ(request.returned, Return::kOk);
  for (size_t i = 0; i < 32; i += 2) requests[i] = Read(keys[i]);
  session_->Execute(requests);
  for (const Request& request : requests) {
    ASSERT_EQ(request.returned, Return::kOk) << session_->last_error();
    if (request.op == Op::kRead) {
      EXPECT_EQ(request.found, value);
    }
  }
}

TEST_P(BindingsTest, SessionsSeeEachOther) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, session = Open()] {
      for (int i = 0; i < kRecords; ++i) {
        const std::string key = "user" + std::to_string(t) + "." + std::to_string(i);
        ASSERT_EQ(Run(*session, Update(key, key)), Return::kOk);
        ExpectFound(*session, key, key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kRecords; ++i) {
      const std::string key = "user" + std::to_string(t) + "." + std::to_string(i);
      ExpectFound(key, key);
    }
  }
}

TEST_P(BindingsTest, SaysWhatItIsAndTakes) {
  EXPECT_THAT(binding_->Describe(), HasSubstr(GetParam().described));
  const ServerUse before = binding_->Use();
  if (!before.known && !GetParam().served) GTEST_SKIP() << "a malloc that doesn't tell";
  ASSERT_TRUE(before.known);
  constexpr size_t kBytes = 1000;
  constexpr size_t kRecords = 4000;
  const std::string value(kBytes, 'v');
  for (size_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(Run(Update("user" + std::to_string(i), value)), Return::kOk);
  }
  const ServerUse after = binding_->Use();
  const uint64_t more = after.memory_bytes - before.memory_bytes;
  EXPECT_GT(more, kBytes * kRecords * 9 / 10);
  EXPECT_LT(more, kBytes * kRecords * 3);
  EXPECT_GE(after.cpu_nanos, before.cpu_nanos);
  // Four thousand requests take a process of its own more than a millisecond.
  EXPECT_EQ(after.cpu_nanos > before.cpu_nanos + 1'000'000, GetParam().served);
}

TEST_P(BindingsTest, ServerThatComesBackIsFoundAgain) {
  if (!GetParam().served) GTEST_SKIP() << "no server";
  ASSERT_EQ(Run(Update("user1", "one")), Return::kOk);
  server_->Kill();
  std::vector<Request> requests = {Read("user1"), Update("user2", "two"), Read("user3")};
  for (int i = 0; i < 3; ++i) {
    session_->Execute(requests);
    for (const Request& request : requests) EXPECT_EQ(request.returned, Return::kError);
    EXPECT_NE(session_->last_error(), "");
  }
  EXPECT_FALSE(binding_->Use().known);
  ASSERT_TRUE(server_->Restart().ok());
  // libmemcached waits before it looks again for a server that was gone.
  SystemClock clock;
  const int64_t give_up = clock.NowNanos() + 30'000'000'000;
  Return returned = Return::kError;
  while (returned != Return::kOk && clock.NowNanos() < give_up) {
    returned = Run(Update("user2", "two"));
  }
  EXPECT_EQ(returned, Return::kOk) << session_->last_error();
  ExpectFound("user2", "two");
  EXPECT_EQ(Run(Read("user1")), Return::kNotFound);
}

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, BindingsTest, ::testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace dunlin::kvbench
