#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/verbs/verbs_dial.h"
#include "gtest/gtest.h"
#include "tests/rdma/verbs_server_testing.h"

namespace dunlin {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }

// A client and a server on one kind of device: "rxe" (RoCEv2) or "siw" (iWARP).
class VerbsFixture : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto addresses = RdmaAddresses();
    const auto found = addresses.find(GetParam());
    if (found == addresses.end()) GTEST_SKIP() << "the harness found no device of this kind";
    address_ = found->second;
    StartServer({});
  }
  bool iwarp() const { return GetParam() == "siw"; }

  void StartServer(TestServer::Options options) {
    channel_ = nullptr;
    connection_ = nullptr;
    server_ = nullptr;
    options.endpoint.address = address_;
    auto server = TestServer::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  absl::StatusOr<std::unique_ptr<RemoteConnection>> TryDial(const VerbsOptions& options = {}) {
    return DialVerbs(address_, server_->port(), Soon(), options);
  }
  std::unique_ptr<RemoteConnection> Dial(const VerbsOptions& options = {}) {
    auto connection = TryDial(options);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return connection.ok() ? *std::move(connection) : nullptr;
  }
  void Connect(const VerbsOptions& options = {}) {
    channel_ = nullptr;
    connection_ = Dial(options);
    ASSERT_NE(connection_, nullptr);
    channel_ = connection_->OpenChannel(server_->Access(false));
  }
  ChainOutcome Run(Chain& chain) {
    channel_->Post(&chain);
    return Await(&chain);
  }
  // The next chain to come back must be this one.
  ChainOutcome Await(Chain* chain) {
    Chain* done = nullptr;
    const Deadline deadline = Soon();
    while (channel_->Poll(&done, 1) == 0) {
      if (deadline.NanosLeft() == 0) channel_->Break(absl::DeadlineExceededError("of the test"));
      channel_->WaitFor(100'000'000);
    }
    EXPECT_EQ(done, chain);
    return chain->outcome;
  }
  Chain NewChain(size_t scratch_at = 0) {
    Chain chain;
    chain.scratch = scratch_.data() + scratch_at;
    return chain;
  }

  std::string address_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<RemoteConnection> connection_;
  std::unique_ptr<Channel> channel_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(1u << 20);
};

inline std::string DeviceName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}
inline auto AllDevices() { return ::testing::Values("rxe", "siw"); }

}  // namespace dunlin
