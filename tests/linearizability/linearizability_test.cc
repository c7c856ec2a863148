#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "dunlin/client.h"
#include "tests/linearizability/fleet.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/environment.h"
#include "tests/support/store_fixture.h"

// What real client processes see of a real server, on the fabric under test. TEST_SECONDS makes the
// long run longer, TEST_SEED repeats its choices (but not the scheduler's).

namespace dunlin::testing {
namespace {

class LinearizabilityTest : public StoreFixture {
 protected:
  void SetUp() override {
    // A client that a crowded machine holds off for long is not to be taken for one that hangs.
    ASSERT_NO_FATAL_FAILURE(StartServer({"--grace", "100ms", "--lock-patience", "10s"}, "256MiB"));
    plan_.binary = DUNLIN_CLIENT_BINARY;
    plan_.target = server_->target();
    plan_.folder = server_->folder();
    plan_.seed = NumberFromEnvironment("TEST_SEED", std::random_device()());
    const std::string fabric = FabricUnderTest().name;
    if (fabric == "rdma") {
      plan_.clients = 4;
      plan_.fault_nanos = 150'000'000;
      plan_.round_nanos = 4'000'000'000;
    }
    std::cout << fabric << ", seed " << plan_.seed << std::endl;
  }

  // The clock's resolution, its lag, and one for rounding.
  int64_t ExpiryTolerance() {
    auto status = client_->Status();
    EXPECT_TRUE(status.ok()) << status.status();
    return static_cast<int64_t>(status.ok() ? status->tick_lag_ms_max + 2 : 0) * 1'000'000;
  }

  // Longer, if the machine is so slow that until then next to nothing was done.
  void RunFor(Fleet& fleet, uint64_t seconds, uint64_t least_operations = 0) {
    constexpr int64_t kSecond = 1'000'000'000;
    const int64_t end = SystemClock().NowNanos() + static_cast<int64_t>(seconds) * kSecond;
    const auto over = [&] {
      const int64_t now = SystemClock().NowNanos();
      return now >= end &&
             (fleet.figures().operations > least_operations || now >= end + 120 * kSecond);
    };
    do {
      const absl::Status ran = fleet.RunRound();
      ASSERT_TRUE(ran.ok()) << ran << "\n" << server_->Log();
      fleet.CheckRound(ExpiryTolerance());
      ExpectClean(fleet.figures());
    } while (!over() && !HasFailure());
    std::cout << fleet.figures().Text() << std::endl;
  }

  static void ExpectClean(const FleetFigures& figures) {
    for (const std::string& text : figures.violations) ADD_FAILURE() << text;
    for (const std::string& text : figures.undecided) ADD_FAILURE() << "undecided: " << text;
  }

  FleetPlan plan_;
};

TEST_F(LinearizabilityTest, OfClientsThatDieAndHang) {
  Fleet fleet(plan_);
  constexpr uint64_t kLeast = 1000;
  RunFor(fleet, NumberFromEnvironment("TEST_SECONDS", 10), kLeast);
  EXPECT_GT(fleet.figures().kills, 0u);
  EXPECT_GT(fleet.figures().operations, kLeast);
}

// Cut in the middle of writes, whose fate the clients then have to find out.
TEST_F(LinearizabilityTest, OfClientsWhoseConnectionsAreCut) {
  if (FabricUnderTest().name != "tcp") GTEST_SKIP() << "only TCP can be cut from outside";
  CuttingProxy proxy(plan_.target.substr(plan_.target.rfind(':') + 1));
  plan_.target = proxy.target();
  plan_.cut = [&proxy](uint64_t bytes) { proxy.CutAfter(bytes); };
  plan_.fault_nanos = 50'000'000;
  Fleet fleet(plan_);
  RunFor(fleet, NumberFromEnvironment("TEST_SECONDS", 8));
  EXPECT_GT(fleet.figures().cuts, 0u);
}

TEST_F(LinearizabilityTest, AClientWithAStaleCopyIsFoundOut) {
  plan_.stale_clients = 1;
  plan_.fault_nanos = 0;
  plan_.clients_of_a_round = plan_.clients;
  Fleet fleet(plan_);
  // On a crowded machine it may get no further in one than to learn what it then keeps telling.
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds && fleet.figures().violations.empty(); ++round) {
    const absl::Status ran = fleet.RunRound();
    ASSERT_TRUE(ran.ok()) << ran << "\n" << server_->Log();
    fleet.CheckRound(ExpiryTolerance());
  }
  EXPECT_FALSE(fleet.figures().violations.empty()) << fleet.figures().Text();
}

// One answer of a good history replaced by one that some client had been given before.
TEST_F(LinearizabilityTest, OneWrongAnswerIsFoundOut) {
  using linearizability::Answer;
  using linearizability::Kind;
  plan_.fault_nanos = 0;
  plan_.clients_of_a_round = plan_.clients;
  Fleet fleet(plan_);
  const absl::Status ran = fleet.RunRound();
  ASSERT_TRUE(ran.ok()) << ran << "\n" << server_->Log();
  fleet.CheckRound(ExpiryTolerance());
  ExpectClean(fleet.figures());
  // The counter: replaced by additions, each of which tells the sum it came to.
  std::vector<linearizability::Operation> history = fleet.histories().at(1);
  std::sort(history.begin(), history.end(),
            [](const auto& a, const auto& b) { return a.invoked < b.invoked; });
  const auto is_read = [](const auto& o) {
    return o.kind == Kind::kGet && o.answer == Answer::kOk && o.version != 0;
  };
  const auto early = std::find_if(history.begin(), history.end(), is_read);
  const auto late = std::find_if(history.rbegin(), history.rend(), is_read);
  ASSERT_NE(early, history.end());
  ASSERT_NE(early->version, late->version);
  late->version = early->version;
  late->value = early->value;
  const auto report = linearizability::Check(history, {.expiry_tolerance = ExpiryTolerance()});
  EXPECT_EQ(report.verdict, linearizability::Verdict::kViolation) << report.explanation;
}

}  // namespace
}  // namespace dunlin::testing
