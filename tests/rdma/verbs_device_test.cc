// Adapters whose port goes down and comes up, and IPv6. Changes the network, so that it runs in the
// virtual machine alone.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

bool InVirtualMachine() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text.find("User Mode Linux") != std::string::npos;
}

class VerbsDeviceTest : public VerbsFixture {
 protected:
  void SetUp() override {
    if (!InVirtualMachine()) GTEST_SKIP() << "would change this host's network";
    VerbsFixture::SetUp();
    if (IsSkipped()) return;
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC | O_NONBLOCK), 0);
    log_from_.Reset(pipe[0]);
    log_to_.Reset(pipe[1]);
    TestServer::Options options;
    options.log_fd = log_to_.get();
    StartServer(options);
  }
  std::string V4() const { return RdmaAddresses()[GetParam()]; }
  std::string Interface() const {
    return Output("ip -o -4 addr show to " + V4() + " | cut -d' ' -f2");
  }
  // Of a command: the first word.
  static std::string Output(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> from(::popen(command.c_str(), "r"), ::pclose);
    char word[64] = "";
    if (from == nullptr || std::fscanf(from.get(), "%63s", word) != 1) return "";
    return word;
  }
  bool Logged(const std::string& text) {
    char piece[4096];
    for (ssize_t n; (n = ::read(log_from_.get(), piece, sizeof piece)) > 0;) {
      log_.append(piece, static_cast<size_t>(n));
    }
    return log_.find(text) != std::string::npos;
  }
  static void Shell(const std::string& command) {
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  UniqueFd log_from_, log_to_;
  std::string log_;
};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsDeviceTest, AllDevices(), DeviceName);

// Global addresses, and those of a link with their scope; a server on one, and on all.
TEST_P(VerbsDeviceTest, OverIPv6) {
  const std::string interface = Interface();
  const std::string global = iwarp() ? "fd00::2" : "fd00::1";
  Shell("ip -6 addr add " + global + "/128 dev " + interface + " nodad");
  const std::string local = Output("ip -o -6 addr show scope link dev " + interface +
                                   " | sed 's/.*inet6 \\([^/]*\\).*/\\1/'");
  for (const std::string& server : {global, std::string()}) {
    address_ = server;
    StartServer({});
    for (const std::string& to : {global, local + "%" + interface, std::string(V4())}) {
      if (server == global && to != global) continue;
      SCOPED_TRACE(to);
      address_ = to;
      // An address is of use once the kernel has seen that nobody else has it.
      ASSERT_TRUE(TestServer::Await([&] {
        return DialVerbs(address_, server_->port(), Deadline::After(std::chrono::milliseconds(300)),
                         {})
            .ok();
      }));
      Connect();
      Chain chain = NewChain();
      chain.Write(0, 0, 64, nullptr, 0);
      chain.FetchAdd(64, 1);
      EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    }
  }
}

TEST_P(VerbsDeviceTest, APortGoesDownAndUp) {
  const std::string interface = Interface();
  ASSERT_FALSE(interface.empty());
  Shell("ip link set " + interface + " down");
  EXPECT_TRUE(TestServer::Await([&] { return Logged("port error"); })) << log_;
  Shell("ip link set " + interface + " up");
  EXPECT_TRUE(TestServer::Await([&] { return Logged("port active"); })) << log_;
  EXPECT_TRUE(TestServer::Await([&] { return TryDial().ok(); })) << TryDial().status();
  Connect();
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.FetchAdd(64, 1);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
}

}  // namespace
}  // namespace dunlin
