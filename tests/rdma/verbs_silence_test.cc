// Two RoCE devices joined by a link that is cut: no disconnect comes, only silence. Changes the
// network, so that it runs in the virtual machine alone.

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

class VerbsSilenceTest : public VerbsFixture {
 protected:
  void SetUp() override {
    VerbsFixture::SetUp();
    if (IsSkipped()) return;
    options_.source_address = RdmaAddresses()["rxe1"];
    ASSERT_FALSE(options_.source_address.empty());
  }
  // From now on each side's packets go to a machine that isn't there.
  void Cut() {
    Divert(options_.source_address, address_);
    Divert(address_, options_.source_address);
  }
  void Divert(const std::string& from, const std::string& to) {
    const std::string command = "i=$(ip -o -4 addr show to " + from +
                                " | cut -d' ' -f2) && ip neigh replace " + to +
                                " lladdr 02:00:00:00:00:99 dev $i nud permanent";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  VerbsOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsSilenceTest, ::testing::Values("rxe0"), DeviceName);

TEST_P(VerbsSilenceTest, SilenceIsNoticedOnBothSides) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.find("User Mode Linux") == std::string::npos) {
    GTEST_SKIP() << "would change this host's network";
  }
  Connect(options_);
  auto idle = Dial(options_);
  ASSERT_NE(idle, nullptr);
  idle->Queue(LaneKind::kHeartbeat, {});
  ASSERT_TRUE(idle->SendUntil(0, Soon()).ok());
  ASSERT_TRUE(idle->Receive(Soon(), nullptr).ok());
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.FetchAdd(64, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();

  Cut();
  SystemClock clock;
  const int64_t begin = clock.NowNanos();
  EXPECT_EQ(Run(chain), ChainOutcome::kUnknown);
  const double seconds = static_cast<double>(clock.NowNanos() - begin) / 1e9;
  std::printf("a silent peer was noticed after %.3f s\n", seconds);
  EXPECT_LT(seconds, 1.0);
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(channel_->broken().message()), HasSubstr("transport retry counter"));
  EXPECT_THAT(std::string(channel_->broken().message()), HasSubstr("did not acknowledge"));

  // The idle one is asked for a sign of life; so is the other, whose end can't be announced.
  EXPECT_EQ(server_->ended(), 0u);
  EXPECT_TRUE(TestServer::Await([&] {
    server_->Do([&] { server_->endpoint().Probe(); });
    return server_->ended() >= 1;
  }));
  EXPECT_THAT(server_->ends()[0], HasSubstr("probe"));
}

}  // namespace
}  // namespace dunlin
