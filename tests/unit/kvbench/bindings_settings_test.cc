#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <utility>

#include "bench/kvbench/bindings/bindings.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/kvbench/bindings_peer_server.h"

namespace dunlin::kvbench {
namespace {

using dunlin::testing::PeerServer;
using dunlin::testing::TemporaryFolder;
using ::testing::HasSubstr;

using Make = absl::StatusOr<std::unique_ptr<Binding>> (*)(const Properties&);

void ExpectRefused(Make make, const std::string& name, const std::string& value) {
  Properties properties;
  properties.Set(name, value);
  const auto made = make(properties);
  EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << name << "=" << value;
  EXPECT_THAT(std::string(made.status().message()), HasSubstr(name));
}

TEST(BindingSettingsTest, NonsenseIsRefusedByName) {
  for (const char* shards : {"0", "-1", "65537", "many"}) {
    ExpectRefused(MakeShardedMap, "sharded_map.shards", shards);
  }
  ExpectRefused(MakeShardedMap, "recordcount", "1e6");
  ExpectRefused(MakeRocksDb, "rocksdb.cache", "much");
  ExpectRefused(MakeRocksDb, "rocksdb.wal", "perhaps");
#if KVBENCH_LIBCUCKOO
  ExpectRefused(MakeLibcuckoo, "recordcount", "1e6");
#endif
#if KVBENCH_REDIS
  for (const char* port : {"", "0", "65536", "-1", "6379x"}) {
    ExpectRefused(MakeRedis, "redis.port", port);
  }
  for (const char* timeout : {"0", "-5", "2s"}) ExpectRefused(MakeRedis, "redis.timeout", timeout);
  ExpectRefused(MakeRedis, "redis.mget", "perhaps");
#endif
#if KVBENCH_MEMCACHED
  for (const char* hosts : {"a:1,b:2", "a:0", "a:x", ":11211"}) {
    ExpectRefused(MakeMemcached, "memcached.hosts", hosts);
  }
  ExpectRefused(MakeMemcached, "memcached.client", "telnet");
  ExpectRefused(MakeMemcached, "memcached.protocol", "udp");
  for (const char* timeout : {"0", "1000000001"}) {
    ExpectRefused(MakeMemcached, "memcached.opTimeoutMillis", timeout);
  }
#endif
}

#if KVBENCH_REDIS
TEST(BindingSettingsTest, RedisThatIsNotThere) {
  const TemporaryFolder folder;
  Properties properties;
  properties.Set("redis.socket", folder.path() + "/nobody.sock");
  const auto made = MakeRedis(properties);
  EXPECT_TRUE(absl::IsUnavailable(made.status()));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("nobody.sock"));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("start redis-server"));
}

TEST(BindingSettingsTest, RedisWithoutPasswordRefusesOne) {
  signal(SIGPIPE, SIG_IGN);
  const auto server = PeerServer::Start(PeerServer::Kind::kRedis, false);
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  Properties properties;
  properties.Set("redis.socket", (*server)->socket());
  properties.Set("redis.password", "secret");
  const auto made = MakeRedis(properties);
  EXPECT_TRUE(absl::IsPermissionDenied(made.status())) << made.status();
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("redis.password"));
}
#endif

#if KVBENCH_MEMCACHED
TEST(BindingSettingsTest, MemcachedThatIsNotThere) {
  const TemporaryFolder folder;
  Properties properties;
  properties.Set("memcached.socket", folder.path() + "/nobody.sock");
  const auto made = MakeMemcached(properties);
  EXPECT_TRUE(absl::IsUnavailable(made.status()));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("nobody.sock"));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("start memcached"));
}

TEST(BindingSettingsTest, KeysThatMemcachedCannotTakeDontDisturbOthers) {
  const auto server = PeerServer::Start(PeerServer::Kind::kMemcached, false);
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  Properties properties;
  properties.Set("memcached.socket", (*server)->socket());
  properties.Set("memcached.client", "direct");
  const auto binding = MakeMemcached(properties);
  ASSERT_TRUE(binding.ok()) << binding.status();
  const auto session = (*binding)->Open();
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string long_key(251, 'k');
  const std::string too_large(2 << 20, 'v');  // for memcached's default limit of an item
  Request requests[] = {
      {.op = Op::kUpdate, .key = "user1", .value = "one"},
      {.op = Op::kUpdate, .key = "user 2", .value = "two"},
      {.op = Op::kUpdate, .key = "user\r\n3", .value = "three"},
      {.op = Op::kUpdate, .key = "", .value = "none"},
      {.op = Op::kUpdate, .key = long_key, .value = "long"},
      {.op = Op::kUpdate, .key = "user5", .value = too_large},
      {.op = Op::kUpdate, .key = "user6", .value = "six"},
  };
  (*session)->Execute(requests);
  const Return expected[] = {Return::kOk,    Return::kError, Return::kError, Return::kError,
                             Return::kError, Return::kError, Return::kOk};
  for (size_t i = 0; i < std::size(requests); ++i) {
    EXPECT_EQ(requests[i].returned, expected[i]) << i;
  }
  EXPECT_THAT((*session)->last_error(), HasSubstr("too large"));
  Request read{.op = Op::kRead, .key = "user6"};
  (*session)->Execute({&read, 1});
  EXPECT_EQ(read.found, "six");
}
#endif

TEST(BindingSettingsTest, RocksDbKeepsItsFolderIfTold) {
  const TemporaryFolder folder;
  Properties properties;
  properties.Set("rocksdb.dir", folder.path() + "/db");
  for (const bool first : {true, false}) {
    const auto binding = MakeRocksDb(properties);
    ASSERT_TRUE(binding.ok()) << binding.status();
    const auto session = (*binding)->Open();
    ASSERT_TRUE(session.ok()) << session.status();
    Request request{.op = first ? Op::kInsert : Op::kRead, .key = "user1", .value = "one"};
    (*session)->Execute({&request, 1});
    ASSERT_EQ(request.returned, Return::kOk);
    if (!first) {
      EXPECT_EQ(request.found, "one");
    }
  }
  properties.Set("rocksdb.dir", "/dev/null/db");
  const auto nowhere = MakeRocksDb(properties);
  EXPECT_THAT(std::string(nowhere.status().message()), HasSubstr("/dev/null/db"));
}

}  // namespace
}  // namespace dunlin::kvbench
