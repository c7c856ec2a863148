#include "client/kvctl/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/kvctl/command_line.h"
#include "client/kvctl/doctor/print_findings.h"
#include "common/base/status.h"
#include "tests/unit/kvctl/doctor/host_trees.h"
#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FakeProbe final : public RawProbe {
 public:
  absl::StatusOr<RawPathResult> result = RawPathResult();
  absl::StatusOr<RawPathResult> Measure(std::string_view, Milliseconds, const Clock&) override {
    return result;
  }
};

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    tools_.calls = &calls_;
    harness_.server.server_status.heap_free_bytes = 1 << 30;
    tools_.wait = [this](Milliseconds time) {
      waited_ += time;
      if (while_waiting_) while_waiting_();
    };
    tools_.connect = [this](
                         std::string_view target,
                         const ClientOptions& options) -> absl::StatusOr<std::unique_ptr<Client>> {
      target_ = target;
      deadline_ = options.connect_deadline;
      if (!connect_.ok()) return connect_;
      return std::make_unique<FakeClient>(harness_.server);
    };
  }

  ExitCode Run(DoctorArguments arguments) { return RunDoctor(harness_.context, arguments, tools_); }
  // The files alone.
  ExitCode RunOn(const Tree& tree) {
    const WrittenTree written(tree);
    DoctorArguments arguments;
    arguments.root = written.root();
    return Run(arguments);
  }
  ExitCode RunTo(const std::string& target) {
    const WrittenTree written(PlainHost());
    DoctorArguments arguments;
    arguments.root = written.root();
    arguments.to = target;
    return Run(arguments);
  }
  const std::string& out() { return harness_.out.bytes(); }

  CommandHarness harness_;
  FakeCalls calls_;
  FakeProbe probe_;
  DoctorTools tools_;
  Milliseconds waited_{0}, deadline_{0};
  std::function<void()> while_waiting_;
  std::string target_;
  absl::Status connect_;
};

TEST_F(DoctorTest, AHostWithoutRdmaHasNoProblem) {
  EXPECT_EQ(RunOn(PlainHost()), ExitCode::kOk);
  EXPECT_THAT(out(), HasSubstr("shm:// (same host) and tcp:// need no RDMA"));
  EXPECT_THAT(out(), HasSubstr("\n0 problems, 0 warnings, "));
}

TEST_F(DoctorTest, WarningsAreNoProblem) {
  EXPECT_EQ(RunOn(ConnectxRoce() + Tree{{"/sys/class/net/eth0/mtu", "1500\n"}}), ExitCode::kOk);
  EXPECT_THAT(out(), HasSubstr("warning    mtu, mlx5_0 port 1: RDMA packets carry 1024 bytes"));
}

TEST_F(DoctorTest, AProblemIsToldWithEvidenceAndRemedyAndByTheExitCode) {
  EXPECT_EQ(
      RunOn(ConnectxRoce() + Tree{{"/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n"}}),
      ExitCode::kProblemsFound);
  EXPECT_THAT(out(),
              HasSubstr("PROBLEM    port-state, mlx5_0 port 1: not active: 1: DOWN\n"
                        "             /sys/class/infiniband/mlx5_0/ports/1/state = 1: DOWN"));
  EXPECT_THAT(out(), HasSubstr("\n           > no signal from the other end"));
}

TEST_F(DoctorTest, Json) {
  harness_.context.output = OutputFormat::kJson;
  EXPECT_EQ(RunOn(ConnectxRoce() - "/dev/infiniband/rdma_cm"), ExitCode::kProblemsFound);
  EXPECT_THAT(out(), ::testing::StartsWith("{\"problems\":1,\"warnings\":0,\"ok\":"));
  EXPECT_THAT(out(), HasSubstr("\"findings\":[{\"check\":\"rdma-devices\",\"subject\":\"this "
                               "host\",\"level\":\"ok\",\"finding\":\"1 device: mlx5_0\","
                               "\"evidence\":[{\"source\":\"/sys/class/infiniband/mlx5_0\","
                               "\"value\":"));
  EXPECT_THAT(out(), HasSubstr("\"remedy\":null}"));
  EXPECT_THAT(out(), HasSubstr("\"level\":\"problem\",\"finding\":\"missing, so this process can't "
                               "use the device\""));
  EXPECT_THAT(out(), HasSubstr("\"level\":\"not_shown\""));
  EXPECT_THAT(out(), ::testing::EndsWith("\"path\":null}\n"));
}

TEST_F(DoctorTest, BytesOfFilesDontReachTheTerminal) {
  RunOn(ConnectxRoce() + Tree{{"/sys/class/infiniband/mlx5_0/ports/1/rate", "\x1b[31mred\x07\n"}});
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
}

TEST_F(DoctorTest, TwoLooksTellWhatRises) {
  const WrittenTree quiet(ConnectxRoce());
  const std::string counter =
      quiet.root() + "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence";
  while_waiting_ = [&] {
    FILE* file = std::fopen(counter.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("5\n", file);
    std::fclose(file);
  };
  DoctorArguments arguments;
  arguments.root = quiet.root();
  arguments.over = Milliseconds(10'000);
  EXPECT_EQ(Run(arguments), ExitCode::kProblemsFound);
  EXPECT_EQ(waited_, Milliseconds(10'000));
  EXPECT_THAT(out(), HasSubstr("5 packets that arrived out of order, 5 more meanwhile"));
}

TEST_F(DoctorTest, OneLookDoesntWait) {
  RunOn(PlainHost());
  EXPECT_EQ(waited_, Milliseconds(0));
  EXPECT_EQ(target_, "");
}

TEST_F(DoctorTest, ARootThatIsNotThere) {
  DoctorArguments arguments;
  arguments.root = "/there/is/no/such/folder";
  EXPECT_EQ(Run(arguments), ExitCode::kUsage);
  EXPECT_THAT(harness_.err.bytes(), HasSubstr("--root"));
}

TEST_F(DoctorTest, MeasuresAPathAndRemovesItsKeys) {
  EXPECT_EQ(RunTo("shm:///x"), ExitCode::kOk);
  EXPECT_EQ(target_, "shm:///x");
  EXPECT_EQ(deadline_, Milliseconds(5000));
  EXPECT_THAT(out(), HasSubstr("PATH to shm:///fake, release 1.2.3\n"));
  EXPECT_THAT(out(), HasSubstr("  get, known, 64 B"));
  EXPECT_THAT(out(), HasSubstr("  get, cold, 64 B"));
  EXPECT_THAT(out(), HasSubstr("  put, known, 64 B"));
  EXPECT_THAT(out(), HasSubstr("/s, of 1.00 MiB each"));
  EXPECT_THAT(out(), HasSubstr("raw verbs             not measured on this fabric"));
  EXPECT_THAT(harness_.server.items, IsEmpty());
}

TEST_F(DoctorTest, ItsKeysAreItsOwnAndExpire) {
  harness_.server.items["mine"] = {"v", 1, {}};
  harness_.server.faults["none"] = Outcome::kOk;
  RunTo("shm:///x");
  EXPECT_EQ(harness_.server.items.size(), 1u);
  EXPECT_EQ(harness_.server.items["mine"].value, "v");
}

TEST_F(DoctorTest, AReadOnlyOrFullServerIsNoProblem) {
  for (const Outcome outcome : {Outcome::kPermissionDenied, Outcome::kMemoryFull}) {
    harness_.server.fault = outcome;
    EXPECT_EQ(RunTo("shm:///x"), ExitCode::kOk);
    EXPECT_THAT(out(), HasSubstr("reached, but gets and puts were not all measured"));
    EXPECT_THAT(out(), HasSubstr("  ping"));
    EXPECT_THAT(out(), Not(HasSubstr("path-cleanup")));
  }
}

TEST_F(DoctorTest, ValuesAreSmallWhereLittleMemoryIsFree) {
  harness_.server.server_status.heap_free_bytes = 1 << 20;
  EXPECT_EQ(RunTo("shm:///x"), ExitCode::kOk);
  EXPECT_THAT(out(), HasSubstr("/s, of 32.0 KiB each"));
}

TEST_F(DoctorTest, AServerThatIsNotReachedIsAProblem) {
  connect_ = absl::UnavailableError("nobody listens at x");
  EXPECT_EQ(RunTo("rdma://x:1"), ExitCode::kProblemsFound);
  EXPECT_THAT(out(), HasSubstr("PROBLEM    path, rdma://x:1: the server was not reached"));
  EXPECT_THAT(out(), HasSubstr("connect = nobody listens at x"));
}

TEST_F(DoctorTest, AWrongTargetIsAUsageError) {
  connect_ = absl::InvalidArgumentError("expected shm://");
  EXPECT_EQ(RunTo("x"), ExitCode::kUsage);
  EXPECT_EQ(out(), "");
}

TEST_F(DoctorTest, APingThatFailsIsAProblem) {
  harness_.server.status = absl::DeadlineExceededError("no answer within 5 s");
  EXPECT_EQ(RunTo("shm:///x"), ExitCode::kProblemsFound);
  EXPECT_THAT(out(), HasSubstr("no answer within 5 s"));
}

TEST_F(DoctorTest, RawVerbsStandBesideTheStores) {
  RawPathResult raw;
  raw.read = Latency{100, 11'000, 15'000};
  raw.compare_swap = Latency{100, 9'000, 12'000};
  raw.read_bandwidth = Bandwidth{1 << 20, 1e9};
  probe_.result = raw;
  tools_.raw = &probe_;
  harness_.server.target = "rdma://10.1.0.1:1";
  EXPECT_EQ(RunTo("rdma://10.1.0.1:1"), ExitCode::kOk);
  EXPECT_THAT(out(), HasSubstr("  raw READ, 64 B        11.0 us median, 15.0 us p99, of 100\n"));
  EXPECT_THAT(out(), HasSubstr("  raw CAS               9.00 us median"));
  EXPECT_THAT(out(), HasSubstr("ok         path-mtu, rdma://10.1.0.1:1: packets of full size"));
}

TEST_F(DoctorTest, LargeVerbsThatDontGetThroughTellOfAnMtu) {
  RawPathResult raw;
  raw.read = Latency{100, 11'000, 15'000};
  raw.large = absl::UnavailableError("retry exceeded");
  probe_.result = raw;
  tools_.raw = &probe_;
  harness_.server.target = "rdma://10.1.0.1:1";
  EXPECT_EQ(RunTo("rdma://10.1.0.1:1"), ExitCode::kProblemsFound);
  EXPECT_THAT(out(), HasSubstr("PROBLEM    path-mtu, rdma://10.1.0.1:1: small verbs get through"));
  EXPECT_THAT(out(), HasSubstr("= retry exceeded"));
}

TEST_F(DoctorTest, RawVerbsThatFailAreSaid) {
  probe_.result = absl::ResourceExhaustedError("no block to try verbs on");
  tools_.raw = &probe_;
  EXPECT_EQ(RunTo("shm:///x"), ExitCode::kOk);
  EXPECT_THAT(out(), HasSubstr("raw verbs             no block to try verbs on\n"));
}

TEST_F(DoctorTest, PathAsJson) {
  harness_.context.output = OutputFormat::kJson;
  EXPECT_EQ(RunTo("shm:///x"), ExitCode::kOk);
  EXPECT_THAT(out(),
              HasSubstr("\"path\":{\"target\":\"shm:///fake\",\"release\":\"1.2.3\",\"ping\":{"
                        "\"operations\":200,\"median_ns\":"));
  EXPECT_THAT(out(), HasSubstr("\"get_bandwidth\":{\"bytes_each\":1048576,\"bytes_per_second\":"));
  EXPECT_THAT(out(), HasSubstr("\"raw\":null,\"raw_error\":\"not measured on this fabric\"}}\n"));
}

TEST(DoctorCommandLine, Options) {
  const ParsedCommandLine parsed = ParseCommandLine(
      {"doctor", "--to", "tcp://h:1", "--over", "10s", "--root", "/r", "--timeout", "2s"}, "shm:");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  const auto* arguments = std::get_if<DoctorArguments>(&parsed.invocation.command);
  ASSERT_NE(arguments, nullptr);
  EXPECT_EQ(arguments->to, "tcp://h:1");
  EXPECT_EQ(arguments->over, Milliseconds(10'000));
  EXPECT_EQ(arguments->root, "/r");
  EXPECT_EQ(arguments->timeout, Milliseconds(2'000));
}

TEST(DoctorCommandLine, DefaultsAndErrors) {
  const ParsedCommandLine parsed = ParseCommandLine({"doctor"}, "shm:");
  const auto* arguments = std::get_if<DoctorArguments>(&parsed.invocation.command);
  ASSERT_NE(arguments, nullptr);
  EXPECT_EQ(arguments->to, "");
  EXPECT_EQ(arguments->over, Milliseconds(0));
  EXPECT_EQ(arguments->root, "/");
  EXPECT_THAT(
      std::string(FromAbsl(ParseCommandLine({"doctor", "--over", "x"}, "shm:").status.message())),
      HasSubstr("--over"));
}

}  // namespace
}  // namespace dunlin::kvctl
