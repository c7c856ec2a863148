#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "client/c/c_types.h"
#include "dunlin/dunlin.h"
#include "tests/unit/client/fake_server_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

TEST(COptionsTest, DefaultsAreThoseOfTheCppInterface) {
  const ClientOptions client;
  const dunlin_client_options c_client = DUNLIN_CLIENT_OPTIONS_INIT;
  EXPECT_EQ(c_client.connect_deadline_ms, client.connect_deadline.count());
  EXPECT_EQ(c_client.read_only, client.read_only);
  const SessionOptions session;
  const dunlin_session_options c_session = DUNLIN_SESSION_OPTIONS_INIT;
  EXPECT_EQ(c_session.default_deadline_ms, session.default_deadline.count());
  EXPECT_EQ(c_session.location_cache_bytes, session.location_cache_bytes);
  EXPECT_EQ(c_session.max_in_flight, session.max_in_flight);
  const ScanOptions scan;
  const dunlin_scan_options c_scan = DUNLIN_SCAN_OPTIONS_INIT;
  EXPECT_EQ(c_scan.limit, scan.limit);
  EXPECT_EQ(c_scan.values, scan.values);
}

// An application that was built when the options were shorter keeps the defaults of the rest.
TEST(COptionsTest, AnOlderSizeIsReadAsFarAsItGoes) {
  dunlin_put_options given = DUNLIN_PUT_OPTIONS_INIT;
  given.mode = DUNLIN_PUT_IF_PRESENT;
  given.ttl_ms = 5;
  given.size = offsetof(dunlin_put_options, ttl_ms);
  const auto read = c::ToPutOptions(&given);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->mode, PutMode::kIfPresent);
  EXPECT_FALSE(read->ttl.has_value());
}

TEST(COptionsTest, ASizeThatCannotBeIsRefused) {
  dunlin_put_options given = DUNLIN_PUT_OPTIONS_INIT;
  given.size = sizeof given + 8;
  EXPECT_FALSE(c::ToPutOptions(&given).has_value());
  given.size = 0;
  EXPECT_FALSE(c::ToPutOptions(&given).has_value());
}

TEST(CConnectTest, RefusalsAreInWordsAndLeaveNull) {
  dunlin_error error;
  auto* client = reinterpret_cast<dunlin_client*>(1);
  EXPECT_EQ(dunlin_connect("http://x", nullptr, &client, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(error.code, DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("found 'http://x'"));
  EXPECT_EQ(dunlin_connect(nullptr, nullptr, &client, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_connect("shm:///x", nullptr, nullptr, nullptr), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_connect("shm:///nowhere", nullptr, &client, nullptr), DUNLIN_CODE_UNAVAILABLE);
  dunlin_client_options options = DUNLIN_CLIENT_OPTIONS_INIT;
  options.connect_deadline_ms = DUNLIN_UNSET;
  EXPECT_EQ(dunlin_connect("shm:///x", &options, &client, &error), DUNLIN_CODE_INVALID_ARGUMENT);

  auto* session = reinterpret_cast<dunlin_session*>(1);
  EXPECT_EQ(dunlin_open_session(nullptr, nullptr, &session, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(dunlin_ping(nullptr, nullptr, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  dunlin_close(nullptr);
  dunlin_close_session(nullptr);
}

TEST(CConnectTest, ConnectsOpensAndAsks) {
  FakeServer server;
  dunlin_error error;
  std::memset(&error, 'x', sizeof error);
  dunlin_client* client = nullptr;
  dunlin_client_options options = DUNLIN_CLIENT_OPTIONS_INIT;
  options.name = "c";
  options.connect_deadline_ms = 20'000;
  ASSERT_EQ(dunlin_connect(server.target().c_str(), &options, &client, &error), DUNLIN_CODE_OK);
  EXPECT_EQ(error.code, DUNLIN_CODE_OK);
  EXPECT_STREQ(error.message, "");
  dunlin_session* session = nullptr;
  ASSERT_EQ(dunlin_open_session(client, nullptr, &session, &error), DUNLIN_CODE_OK);
  EXPECT_EQ(dunlin_max_key_bytes(session), 65'535u);
  EXPECT_EQ(dunlin_max_value_bytes(session), 1u << 20);
  uint64_t round_trip_ns = 0;
  EXPECT_EQ(dunlin_ping(client, &round_trip_ns, &error), DUNLIN_CODE_OK);
  EXPECT_GT(round_trip_ns, 0u);
  dunlin_server_status status = {};
  status.size = sizeof status;
  EXPECT_EQ(dunlin_status(client, true, &status, &error), DUNLIN_CODE_OK);
  EXPECT_STREQ(status.release, "9.8.7");
  EXPECT_STREQ(status.state, "serving");
  EXPECT_EQ(status.items, 12u);
  EXPECT_EQ(status.sessions, 1u);
  EXPECT_TRUE(status.counted);
  EXPECT_EQ(dunlin_status(client, true, nullptr, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  dunlin_close_session(session);
  dunlin_close(client);
  EXPECT_EQ(server.goodbyes(), 1);
}

}  // namespace
}  // namespace dunlin
