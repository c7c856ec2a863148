// The dunlin binding against a real server, over shared memory and TCP.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "tests/support/server_process.h"

namespace dunlin::kvbench {
namespace {

using dunlin::testing::ServerProcess;
using ::testing::HasSubstr;

class DunlinBinding : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start(
        {.binary = DUNLIN_SERVER_BINARY, .fabric = {.name = GetParam(), .address = "127.0.0.1"}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    properties_.Set("dunlin.target", server_->target());
    properties_.Set("dunlin.pid", std::to_string(server_->pid()));
    Connect();
  }
  void Connect() {
    auto binding = MakeDunlin(properties_);
    ASSERT_TRUE(binding.ok()) << binding.status();
    binding_ = *std::move(binding);
    auto session = binding_->Open();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  Return One(Op op, std::string_view key, std::string_view value = {}) {
    last_ = {.op = op, .key = key, .value = value};
    session_->Execute(std::span(&last_, 1));
    return last_.returned;
  }

  std::unique_ptr<ServerProcess> server_;
  Properties properties_;
  std::unique_ptr<Binding> binding_;
  std::unique_ptr<BindingSession> session_;
  Request last_;
};

TEST_P(DunlinBinding, CarriesOutEveryOperation) {
  EXPECT_EQ(One(Op::kRead, "user1"), Return::kNotFound);
  EXPECT_EQ(One(Op::kInsert, "user1", "one"), Return::kOk);
  EXPECT_EQ(One(Op::kRead, "user1"), Return::kOk);
  EXPECT_EQ(last_.found, "one");
  // Whether or not the key was there.
  EXPECT_EQ(One(Op::kUpdate, "user1", "uno"), Return::kOk);
  EXPECT_EQ(One(Op::kUpdate, "user2", ""), Return::kOk);
  EXPECT_EQ(One(Op::kRead, "user1"), Return::kOk);
  EXPECT_EQ(last_.found, "uno");
  EXPECT_EQ(One(Op::kRead, "user2"), Return::kOk);
  EXPECT_EQ(last_.found, "");
  EXPECT_EQ(One(Op::kDelete, "user1"), Return::kOk);
  EXPECT_EQ(One(Op::kDelete, "user1"), Return::kNotFound);
  EXPECT_EQ(One(Op::kRead, "user1"), Return::kNotFound);
  EXPECT_EQ(session_->last_error(), "");
}

TEST_P(DunlinBinding, TakesValuesOfAnyLength) {
  for (const size_t length : {1u, 255u, 256u, 257u, 1000u, 10'000u, 100'000u}) {
    const std::string value(length, 'v');
    ASSERT_EQ(One(Op::kInsert, "key", value), Return::kOk) << length;
    ASSERT_EQ(One(Op::kRead, "key"), Return::kOk) << length;
    EXPECT_EQ(last_.found, value);
  }
}

TEST_P(DunlinBinding, CarriesOutBatchesOfEverything) {
  constexpr size_t kCount = 100;
  std::vector<std::string> keys, values;
  std::vector<Request> requests;
  for (size_t i = 0; i < kCount; ++i) {
    keys.push_back("user" + std::to_string(i));
    values.push_back(std::string(i * 7, static_cast<char>('a' + i % 26)));
  }
  for (size_t i = 0; i < kCount; ++i) {
    requests.push_back({.op = Op::kInsert, .key = keys[i], .value = values[i]});
  }
  session_->Execute(requests);
  for (const Request& request : requests) EXPECT_EQ(request.returned, Return::kOk);

  // Reads of what is there and of what isn't, updates of what nobody reads here, and deletes.
  requests.clear();
  for (size_t i = 0; i < kCount; ++i) {
    const Op op = i < 60 ? Op::kRead : (i < 80 ? Op::kUpdate : Op::kDelete);
    requests.push_back({.op = op, .key = keys[i], .value = op == Op::kUpdate ? "new" : ""});
    if (i % 10 == 0) requests.push_back({.op = Op::kRead, .key = "nobody"});
  }
  session_->Execute(requests);
  size_t next = 0;
  for (const Request& request : requests) {
    if (request.key == "nobody") {
      EXPECT_EQ(request.returned, Return::kNotFound);
      continue;
    }
    EXPECT_EQ(request.returned, Return::kOk) << request.key;
    if (request.op == Op::kRead) {
      EXPECT_EQ(request.found, values[next]) << next;
    }
    ++next;
  }
  EXPECT_EQ(One(Op::kRead, "user70"), Return::kOk);
  EXPECT_EQ(last_.found, "new");
  EXPECT_EQ(One(Op::kRead, "user90"), Return::kNotFound);
}

TEST_P(DunlinBinding, TheSameKeyTwiceInABatch) {
  std::vector<Request> requests = {{.op = Op::kUpdate, .key = "hot", .value = "a"},
                                   {.op = Op::kUpdate, .key = "hot", .value = "b"},
                                   {.op = Op::kUpdate, .key = "hot", .value = "c"}};
  session_->Execute(requests);
  for (const Request& request : requests) EXPECT_EQ(request.returned, Return::kOk);
  requests.assign(3, {.op = Op::kRead, .key = "hot"});
  session_->Execute(requests);
  for (const Request& request : requests) {
    EXPECT_EQ(request.returned, Return::kOk);
    EXPECT_EQ(request.found.size(), 1u);
  }
}

TEST_P(DunlinBinding, TellsWhatItCosts) {
  ASSERT_EQ(One(Op::kInsert, "user1", "one"), Return::kOk);
  const FabricCounts before = session_->fabric();
  EXPECT_TRUE(before.known);
  for (int i = 0; i < 10; ++i) One(Op::kRead, "user1");
  const FabricCounts after = session_->fabric();
  EXPECT_EQ(after.operations - before.operations, 10u);
  // A get of a known key is one round trip of two READs.
  EXPECT_EQ(after.round_trips - before.round_trips, 10u);
  EXPECT_EQ(after.verbs - before.verbs, 20u);

  const ServerUse use = binding_->Use();
  EXPECT_TRUE(use.known);
  EXPECT_GT(use.cpu_nanos, 0u);
  EXPECT_GT(use.memory_bytes, 0u);
  EXPECT_THAT(binding_->Describe(), HasSubstr(std::string("dunlin ")));
  EXPECT_THAT(binding_->Describe(), HasSubstr(GetParam()));
}

TEST_P(DunlinBinding, AServerThatDiedIsAnErrorOfEachCall) {
  ASSERT_EQ(One(Op::kInsert, "user1", "one"), Return::kOk);
  server_->Kill();
  bool failed = false;
  // On shared memory a mapping outlives its server for a moment.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!failed && std::chrono::steady_clock::now() < end) {
    const Return returned = One(Op::kUpdate, "user1", "two");
    failed = returned == Return::kError || returned == Return::kUnknown;
  }
  EXPECT_TRUE(failed);
  EXPECT_NE(session_->last_error(), "");
}

INSTANTIATE_TEST_SUITE_P(Fabrics, DunlinBinding, ::testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DunlinBindingErrors, AServerThatIsNotThereIsNamed) {
  Properties properties;
  properties.Set("dunlin.target", "shm:///nonexistent/dunlin.sock");
  const auto binding = MakeDunlin(properties);
  EXPECT_FALSE(binding.ok());
  EXPECT_THAT(std::string(binding.status().message()), HasSubstr("/nonexistent/dunlin.sock"));
}

TEST(DunlinBindingErrors, SettingsThatMakeNoSense) {
  for (const auto& [name, value] :
       {std::pair("dunlin.target", "carrier-pigeon://x"), std::pair("dunlin.cache", "lots"),
        std::pair("dunlin.deadline", "0"), std::pair("dunlin.pid", "x")}) {
    Properties properties;
    properties.Set(name, value);
    const auto binding = MakeDunlin(properties);
    EXPECT_EQ(binding.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(binding.status().message()), HasSubstr(name));
  }
}

}  // namespace
}  // namespace dunlin::kvbench
