// The doctor measures the path to a server of its own, over the fabric that the environment names
// (tests/support/server_process.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/kvctl/doctor/channel_probe.h"
#include "client/kvctl/doctor/measure_path.h"
#include "common/base/clock.h"
#include "tests/support/server_process.h"

namespace dunlin::kvctl {
namespace {

using ::dunlin::testing::FabricUnderTest;
using ::dunlin::testing::ServerProcess;
using ::testing::HasSubstr;

constexpr Milliseconds kTimeout{10'000};

class PathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server =
        ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY, .fabric = FabricUnderTest()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ClientOptions options;
    options.connect_deadline = kTimeout;
    auto client = Client::Connect(server_->target(), options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  // What the server says once everything that was given back has arrived.
  ServerStatus Status() {
    const absl::StatusOr<ServerStatus> status = client_->Status(/*count_index=*/true);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : ServerStatus();
  }

  const SystemClock clock_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
};

void ExpectMeasured(const std::optional<Latency>& latency) {
  ASSERT_TRUE(latency.has_value());
  EXPECT_GT(latency->operations, 0u);
  EXPECT_GT(latency->median_nanos, 0u);
  EXPECT_GE(latency->p99_nanos, latency->median_nanos);
}

void ExpectMeasured(const std::optional<Bandwidth>& bandwidth) {
  ASSERT_TRUE(bandwidth.has_value());
  EXPECT_EQ(bandwidth->bytes_each, uint64_t{1} << 20);
  EXPECT_GT(bandwidth->bytes_per_second, 0);
}

TEST_F(PathTest, TheStoreIsMeasuredAndLeftAsItWas) {
  const auto result = MeasureStore(*client_, kTimeout, clock_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->store.ok()) << result->store;
  EXPECT_TRUE(result->cleanup.ok()) << result->cleanup;
  EXPECT_NE(result->release, "");
  EXPECT_GT(result->clock_nanos, 0u);
  ExpectMeasured(result->ping);
  ExpectMeasured(result->get_known);
  ExpectMeasured(result->get_cold);
  ExpectMeasured(result->put_known);
  ExpectMeasured(result->get_bandwidth);
  ExpectMeasured(result->put_bandwidth);
  EXPECT_EQ(Status().items, 0u);
}

TEST_F(PathTest, SingleVerbsAreMeasuredAndTheirMemoryIsGivenBack) {
  const uint64_t used = Status().heap_used_bytes;
  ChannelProbe probe(MakePathOpener);
  const auto result = probe.Measure(server_->target(), kTimeout, clock_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->large.ok()) << result->large;
  ExpectMeasured(result->read);
  ExpectMeasured(result->write);
  ExpectMeasured(result->compare_swap);
  ExpectMeasured(result->read_bandwidth);
  ExpectMeasured(result->write_bandwidth);
  const ServerStatus after = Status();
  EXPECT_EQ(after.heap_used_bytes, used);
  EXPECT_EQ(after.returns_refused, 0u);
  EXPECT_EQ(after.sessions_lost, 0u);
  EXPECT_EQ(after.items, 0u);
}

TEST_F(PathTest, AReadOnlyClientIsNotMeasuredByPuts) {
  ClientOptions options;
  options.connect_deadline = kTimeout;
  options.read_only = true;
  auto client = Client::Connect(server_->target(), options);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto result = MeasureStore(**client, kTimeout, clock_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->store.code(), absl::StatusCode::kPermissionDenied) << result->store;
  EXPECT_TRUE(result->cleanup.ok()) << result->cleanup;
  EXPECT_FALSE(result->put_known.has_value());
  ExpectMeasured(result->ping);
}

TEST_F(PathTest, AServerThatIsGoneIsAnError) {
  const std::string target = server_->target();
  server_->Kill();
  EXPECT_FALSE(MeasureStore(*client_, Milliseconds(500), clock_).ok());
  ChannelProbe probe(MakePathOpener);
  EXPECT_FALSE(probe.Measure(target, Milliseconds(500), clock_).ok());
}

TEST_F(PathTest, AFullServerIsLeftAlone) {
  auto small = ServerProcess::Start(
      {.binary = DUNLIN_SERVER_BINARY, .memory = "4MiB", .fabric = FabricUnderTest()});
  ASSERT_TRUE(small.ok()) << small.status();
  ClientOptions options;
  options.connect_deadline = kTimeout;
  auto client = Client::Connect((*small)->target(), options);
  ASSERT_TRUE(client.ok()) << client.status();
  {
    auto session = (*client)->OpenSession();
    ASSERT_TRUE(session.ok()) << session.status();
    // To the last page: what is too little for the large ones is taken by smaller ones.
    int key = 0;
    for (const size_t bytes : {500'000, 50'000, 5'000, 500, 50}) {
      const std::string value(bytes, 'v');
      Outcome outcome = Outcome::kOk;
      for (int i = 0; i < 100'000 && outcome == Outcome::kOk; ++i) {
        outcome = (*session)->PutBytes(AsBytes(std::to_string(key++)), AsBytes(value)).outcome;
      }
      ASSERT_EQ(outcome, Outcome::kMemoryFull);
    }
  }
  ChannelProbe probe(MakePathOpener);
  const auto raw = probe.Measure((*small)->target(), kTimeout, clock_);
  EXPECT_EQ(raw.status().code(), absl::StatusCode::kResourceExhausted) << raw.status();
  EXPECT_THAT(std::string(raw.status().message()), HasSubstr("no block of 1 MiB"));
  const auto store = MeasureStore(**client, kTimeout, clock_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(store->store.code(), absl::StatusCode::kResourceExhausted) << store->store;
  EXPECT_TRUE(store->cleanup.ok()) << store->cleanup;
}

TEST(PathOpener, RefusesWhatIsNoTarget) {
  EXPECT_EQ(MakePathOpener("http://x").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dunlin::kvctl
