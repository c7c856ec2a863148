// What becomes of chains, lanes and sessions when something ends, over the verbs fabric.

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "common/layout/word.h"
#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

// A process with its standard input and output; killed with the object.
class Process {
 public:
  explicit Process(
      std::vector<std::string> arguments, void (*prepare)() = [] {}) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return;
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      prepare();
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  ~Process() {
    Kill();
    ::fclose(to_);
    ::fclose(from_);
  }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::string Line() {
    char line[1024] = "";
    if (std::fgets(line, sizeof line, from_) == nullptr) return "";
    line[std::strcspn(line, "\n")] = 0;
    return line;
  }
  FILE* to() { return to_; }
  FILE* from() { return from_; }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

std::string TestServerProgram() {
  char path[4096] = "";
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.rfind('/')) + "/verbs_test_server";
}

class VerbsFailureTest : public VerbsFixture {
 protected:
  // Waits as an idle session does, without posting anything.
  bool BreaksWithin(std::chrono::milliseconds time) {
    const Deadline deadline = Deadline::After(time);
    while (channel_->broken().ok() && deadline.NanosLeft() != 0) {
      channel_->WaitFor(deadline.NanosLeft());
    }
    return !channel_->broken().ok();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsFailureTest, AllDevices(), DeviceName);

TEST_P(VerbsFailureTest, TheServerClosesAnIdleSession) {
  Connect();
  server_->DropAllPeers();
  EXPECT_TRUE(BreaksWithin(std::chrono::milliseconds(1000)));
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(channel_->broken().message()), HasSubstr("closed the connection"));
  EXPECT_EQ(connection_->CheckQuiet(), channel_->broken());
  Chain chain = NewChain();
  chain.ReadWord(0);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
}

TEST_P(VerbsFailureTest, TheLaneNoticesToo) {
  Connect();
  server_->DropAllPeers();
  EXPECT_TRUE(TestServer::Await([&] { return !connection_->CheckQuiet().ok(); }));
}

// More chains than there are credits for: those whose tails were sent may have been executed, the
// others can't.
TEST_P(VerbsFailureTest, ClosedWithChainsUnderWay) {
  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  options.serve = false;
  StartServer(options);
  Connect();
  std::vector<Chain> chains(channel_->depth());
  for (Chain& chain : chains) {
    chain = NewChain();
    chain.FetchAdd(64, 1);
    channel_->Post(&chain);
  }
  Chain* none = nullptr;
  EXPECT_EQ(channel_->Poll(&none, 1), 0u);
  server_->DropAllPeers();
  size_t unknown = 0;
  for (Chain& chain : chains) {
    const ChainOutcome outcome = Await(&chain);
    ASSERT_THAT(outcome, ::testing::AnyOf(ChainOutcome::kUnknown, ChainOutcome::kNotExecuted));
    unknown += outcome == ChainOutcome::kUnknown;
  }
  EXPECT_EQ(unknown, 31u);
  EXPECT_EQ(channel_->Poll(&none, 1), 0u);
}

TEST_P(VerbsFailureTest, ADeadlineBreaksTheSession) {
  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  options.serve = false;
  StartServer(options);
  Connect();
  Chain done = NewChain(64);
  done.ReadWord(0);
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.CompareSwap(64, 0, 1);
  channel_->Post(&chain);
  channel_->Post(&done);
  channel_->Break(absl::DeadlineExceededError("too late"));
  Chain* finished[2];
  ASSERT_EQ(channel_->Poll(finished, 2), 2u);
  EXPECT_EQ(chain.outcome, ChainOutcome::kUnknown);
  // It had completed.
  EXPECT_EQ(done.outcome, ChainOutcome::kDone);
  EXPECT_EQ(connection_->broken().code(), absl::StatusCode::kDeadlineExceeded);
  Chain late = NewChain();
  late.ReadWord(0);
  EXPECT_EQ(Run(late), ChainOutcome::kNotExecuted);
  // The server learns of it at once.
  EXPECT_TRUE(TestServer::Await([&] { return server_->hang_ups() == 1; }));
}

// Chains under way are the caller's again once the channel is gone.
TEST_P(VerbsFailureTest, AChannelClosedWithChainsUnderWay) {
  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  options.serve = false;
  StartServer(options);
  Connect();
  auto chain = std::make_unique<Chain>(NewChain());
  chain->FetchAdd(64, 1);
  channel_->Post(chain.get());
  channel_ = nullptr;
  chain = nullptr;
  EXPECT_EQ(connection_->CheckQuiet().code(), absl::StatusCode::kCancelled);
}

TEST_P(VerbsFailureTest, LockedMemoryIsCheckedFirst) {
  Process process({TestServerProgram(), address_}, [] {
    const rlimit limit{1u << 20, 1u << 20};
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
    ::prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
  });
  const std::string line = process.Line();
  EXPECT_THAT(line, HasSubstr("FAILED_PRECONDITION: RDMA needs 2097152 bytes of locked memory"));
  EXPECT_THAT(line, HasSubstr("LimitMEMLOCK=infinity"));
}

TEST_P(VerbsFailureTest, TheServerIsKilled) {
  Process process({TestServerProgram(), address_});
  const std::string port = process.Line();
  auto connection = DialVerbs(address_, port, Soon(), {});
  ASSERT_TRUE(connection.ok()) << connection.status();
  connection_ = *std::move(connection);
  channel_ = connection_->OpenChannel(ReadAccess(process.from()));
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.FetchAdd(64, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  process.Kill();
  EXPECT_TRUE(BreaksWithin(std::chrono::milliseconds(1000)));
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(DialVerbs(address_, port, Soon(), {}).ok());
}

// Chains are posted all the while: each comes back, and at some point as unknown.
TEST_P(VerbsFailureTest, TheServerIsKilledUnderLoad) {
  Process process({TestServerProgram(), address_});
  auto connection = DialVerbs(address_, process.Line(), Soon(), {});
  ASSERT_TRUE(connection.ok()) << connection.status();
  connection_ = *std::move(connection);
  channel_ = connection_->OpenChannel(ReadAccess(process.from()));
  std::thread killer([&] { process.Kill(); });
  ChainOutcome outcome = ChainOutcome::kDone;
  while (outcome == ChainOutcome::kDone) {
    Chain chain = NewChain();
    chain.Write(0, 0, 64, nullptr, 0);
    chain.FetchAdd(64, 1);
    chain.Read(0, 4096, 64);
    outcome = Run(chain);
  }
  killer.join();
  EXPECT_THAT(outcome, ::testing::AnyOf(ChainOutcome::kUnknown, ChainOutcome::kNotExecuted));
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kUnavailable) << channel_->broken();
}

TEST_P(VerbsFailureTest, AClientIsKilledInTheMiddle) {
  Connect();
  Process process({TestServerProgram(), address_, server_->port()});
  WriteAccess(server_->Access(false), process.to());
  ASSERT_EQ(process.Line(), "loading");
  ASSERT_TRUE(TestServer::Await([&] { return LoadWord(server_->region() + 64) > 100; }));
  process.Kill();
  EXPECT_TRUE(TestServer::Await([&] { return server_->ended() == 1; }));
  const uint64_t count = LoadWord(server_->region() + 64);
  Chain chain = NewChain();
  chain.FetchAdd(64, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(chain.work[0].result, count);
}

// Once the peer's destructor has returned, nothing that the client posts touches the region.
TEST_P(VerbsFailureTest, TheServerFences) {
  Connect();
  std::atomic<bool> stop{false};
  std::thread client([&] {
    std::memset(scratch_.data(), 0xff, 4096);
    while (!stop && channel_->broken().ok()) {
      Chain chain = NewChain();
      for (uint32_t i = 0; i < kMaxWorks; ++i) chain.Write(0, 0, 4096, nullptr, 0);
      Run(chain);
    }
  });
  ASSERT_TRUE(TestServer::Await([&] { return LoadWord(server_->region()) != 0; }));
  bool touched = false;
  server_->Do([&] {
    server_->DropSessions();
    std::memset(server_->region(), 0, 4096);
    for (int i = 0; i < 200; ++i) {
      std::this_thread::yield();
      for (uint32_t at = 0; at < 4096; at += 8) touched |= LoadWord(server_->region() + at) != 0;
    }
  });
  EXPECT_FALSE(touched);
  stop = true;
  client.join();
}

TEST_P(VerbsFailureTest, ManySessionsEndAtOnce) {
  constexpr size_t kSessions = 200;
  VerbsOptions options;
  options.staging_bytes = 64u << 10;
  options.receive_depth = 8;
  options.chains = 4;
  for (const bool by_server : {false, true}) {
    const size_t ended_before = server_->ended();
    std::vector<std::unique_ptr<RemoteConnection>> sessions;
    for (size_t i = 0; i < kSessions; ++i) {
      sessions.push_back(Dial(options));
      ASSERT_NE(sessions.back(), nullptr) << i;
    }
    ASSERT_TRUE(TestServer::Await([&] { return server_->peers() == kSessions; }));
    SystemClock clock;
    const int64_t begin = clock.NowNanos();
    if (by_server) {
      server_->DropAllPeers();
      for (auto& session : sessions) {
        EXPECT_TRUE(TestServer::Await([&] { return !session->CheckQuiet().ok(); }));
      }
    } else {
      sessions.clear();
      EXPECT_TRUE(TestServer::Await([&] { return server_->ended() == ended_before + kSessions; }));
    }
    const double seconds = static_cast<double>(clock.NowNanos() - begin) / 1e9;
    std::printf("%s: %zu sessions closed by the %s in %.3f s\n", GetParam().c_str(), kSessions,
                by_server ? "server" : "clients", seconds);
    EXPECT_LT(seconds, 5.0);
    Connect();
    Chain chain = NewChain();
    chain.ReadWord(0);
    EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    channel_ = nullptr;
    connection_ = nullptr;
    EXPECT_TRUE(TestServer::Await([&] { return server_->peers() == 0; }));
  }
}

// Idle peers are asked for a sign of life, and are not disturbed by it.
TEST_P(VerbsFailureTest, ProbesFindLivePeersAlive) {
  Connect();
  connection_->Queue(LaneKind::kHeartbeat, {});
  ASSERT_TRUE(connection_->SendUntil(0, Soon()).ok());
  ASSERT_TRUE(connection_->Receive(Soon(), nullptr).ok());
  for (int i = 0; i < 20; ++i) server_->Do([&] { server_->endpoint().Probe(); });
  Chain chain = NewChain();
  chain.ReadWord(0);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(server_->ended(), 0u);
  EXPECT_TRUE(connection_->CheckQuiet().ok());
}

// A child's copy of a connection is none: destroying it leaves the parent's alone.
TEST_P(VerbsFailureTest, AChildProcessDestroysItsCopy) {
  Connect();
  const pid_t child = ::fork();
  if (child == 0) {
    channel_ = nullptr;
    connection_ = nullptr;
    ::_exit(0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.FetchAdd(64, 1);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(server_->ended(), 0u);
}

// The kernel's TCP remembers the ports of what was closed, and a client may be given one of those.
TEST_P(VerbsFailureTest, ConnectionsComeAndGoWithFewPorts) {
  const std::string setting = "/proc/sys/net/ipv4/ip_local_port_range";
  std::string before;
  std::getline(std::ifstream(setting), before);
  std::ofstream(setting) << "20000 20099\n" << std::flush;
  std::string now;
  std::getline(std::ifstream(setting), now);
  if (now == before) GTEST_SKIP() << "no right to change " << setting;
  for (int i = 0; i < 60 && !HasFailure(); ++i) EXPECT_NE(Dial(), nullptr) << i;
  std::ofstream(setting) << before << "\n" << std::flush;
}

TEST_P(VerbsFailureTest, PeersMayOutliveTheirEndpoint) {
  Connect();
  server_ = nullptr;
  EXPECT_TRUE(BreaksWithin(std::chrono::milliseconds(1000)));
}

}  // namespace
}  // namespace dunlin
