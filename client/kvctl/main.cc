#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/kvctl/command_line.h"
#include "client/kvctl/commands/metrics.h"
#include "client/kvctl/commands/server.h"
#include "client/kvctl/doctor/channel_probe.h"
#include "client/kvctl/doctor/system_calls.h"

namespace dunlin::kvctl {
namespace {

ExitCode Run(Context& context, const TextArguments& arguments) {
  return PrintBytes(context, arguments.text);
}
ExitCode Run(Context& context, const PingArguments&) { return RunPing(context); }
ExitCode Run(Context& context, const StatusArguments&) { return RunStatus(context); }
ExitCode Run(Context& context, const SweepArguments& arguments) {
  return RunSweep(context, arguments);
}
ExitCode Run(Context& context, const StatsArguments&) { return RunStats(context); }
ExitCode Run(Context& context, const MetricsArguments&) { return RunMetrics(context); }
ExitCode Run(Context& context, const LayoutArguments&) { return RunLayout(context); }
ExitCode Run(Context& context, const GetArguments& arguments) { return RunGet(context, arguments); }
ExitCode Run(Context& context, const PutArguments& arguments) { return RunPut(context, arguments); }
ExitCode Run(Context& context, const DelArguments& arguments) { return RunDel(context, arguments); }
ExitCode Run(Context& context, const CasArguments& arguments) { return RunCas(context, arguments); }
ExitCode Run(Context& context, const IncrArguments& arguments) {
  return RunIncr(context, arguments);
}
ExitCode Run(Context& context, const TouchArguments& arguments) {
  return RunTouch(context, arguments);
}
ExitCode Run(Context& context, const ScanArguments& arguments) {
  return RunScan(context, arguments);
}
ExitCode Run(Context& context, const ImportArguments& arguments) {
  return RunImport(context, arguments);
}
ExitCode Run(Context& context, const ExportArguments& arguments) {
  return RunExport(context, arguments);
}

ExitCode Run(Context& context, const WorkloadArguments& arguments) {
  return RunWorkload(context, arguments);
}

ExitCode Run(Context& context, const DoctorArguments& arguments) {
  SystemCalls calls;
  ChannelProbe raw(MakePathOpener);
  DoctorTools tools;
  tools.calls = &calls;
  tools.wait = [](Milliseconds time) {
    constexpr int64_t kLongest = std::numeric_limits<int>::max();
    ::poll(nullptr, 0, static_cast<int>(std::min<int64_t>(time.count(), kLongest)));
  };
  tools.connect = [](std::string_view target, const ClientOptions& options) {
    return Client::Connect(target, options);
  };
  tools.raw = &raw;
  return RunDoctor(context, arguments, tools);
}

ExitCode Run(Context& context, const SnapshotCreateArguments& arguments) {
  return RunSnapshotCreate(context, arguments);
}
ExitCode Run(Context& context, const SnapshotListArguments& arguments) {
  return RunSnapshotList(context, arguments);
}
ExitCode Run(Context& context, const SnapshotDeleteArguments& arguments) {
  return RunSnapshotDelete(context, arguments);
}
ExitCode Run(Context& context, const SnapshotVerifyArguments& arguments) {
  return RunSnapshotVerify(context, arguments);
}
ExitCode Run(Context& context, const SnapshotGetArguments& arguments) {
  return RunSnapshotGet(context, arguments);
}
ExitCode Run(Context& context, const SnapshotExportArguments& arguments) {
  return RunSnapshotExport(context, arguments);
}
ExitCode Run(Context& context, const SnapshotRestoreArguments& arguments) {
  return RunSnapshotRestore(context, arguments);
}

// What is connected to before a command runs.
enum class Needs { kNothing, kServer, kServersRegion, kSession };

template <typename Arguments, typename... Others>
constexpr bool kIsOneOf = (std::is_same_v<Arguments, Others> || ...);

template <typename Arguments>
Needs NeedsOf(const Arguments& arguments) {
  // The doctor connects by itself, if at all.
  if constexpr (kIsOneOf<Arguments, TextArguments, DoctorArguments, SnapshotVerifyArguments,
                         SnapshotGetArguments, SnapshotExportArguments>) {
    return Needs::kNothing;
  } else if constexpr (kIsOneOf<Arguments, SnapshotListArguments, SnapshotDeleteArguments>) {
    return arguments.dir.empty() ? Needs::kServer : Needs::kNothing;
  } else if constexpr (kIsOneOf<Arguments, PingArguments, StatusArguments, SweepArguments,
                                StatsArguments, MetricsArguments, SnapshotCreateArguments>) {
    return Needs::kServer;
  } else if constexpr (kIsOneOf<Arguments, LayoutArguments>) {
    return Needs::kServersRegion;
  } else {
    return Needs::kSession;
  }
}

template <typename Arguments>
ExitCode ConnectAndRun(Context& context, const Invocation& invocation, const Arguments& arguments) {
  std::unique_ptr<Client> client;
  std::unique_ptr<Session> session;
  const Needs needs = NeedsOf(arguments);
  if (needs != Needs::kNothing) {
    ClientOptions options;
    options.name = "kvctl";
    options.connect_deadline = invocation.timeout;
    // A server whose adapter executes the atomics refuses sessions on shared memory, but answers.
    options.sessions = needs != Needs::kServer;
    absl::StatusOr<std::unique_ptr<Client>> connected = Client::Connect(invocation.server, options);
    if (!connected.ok()) return Fail(context, connected.status());
    client = *std::move(connected);
    for (const std::string& reason : client->passed_over()) {
      Note(context, absl::StrCat("passed over ", reason, "; using ", client->target()));
    }
    context.client = client.get();
  }
  if (needs == Needs::kSession) {
    SessionOptions options;
    options.default_deadline = invocation.timeout;
    absl::StatusOr<std::unique_ptr<Session>> opened = client->OpenSession(options);
    if (!opened.ok()) return Fail(context, opened.status());
    session = *std::move(opened);
    context.session = session.get();
  }
  return Run(context, arguments);
}

// Where dunlin-server listens unless told otherwise.
std::string DefaultServer() {
  const uid_t user = ::geteuid();
  if (user == 0) return "shm:///run/dunlin/dunlin.sock";
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  if (folder != nullptr && folder[0] == '/') return std::string("shm://") + folder + "/dunlin.sock";
  return "shm:///tmp/dunlin-" + std::to_string(user) + ".sock";
}

int TerminalColumns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int Main(int argc, char** argv) {
  // A closed pipe is an error of write(2), told by the exit code, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  const ParsedCommandLine parsed = ParseCommandLine(
      std::vector<std::string>(argv + std::min(argc, 1), argv + argc), DefaultServer());

  const SystemClock clock;
  FdSource in(STDIN_FILENO, "standard input");
  FdSink out(STDOUT_FILENO, "standard output");
  FdSink err(STDERR_FILENO, "standard error");
  Context context;
  context.clock = &clock;
  context.in = &in;
  context.out = &out;
  context.err = &err;
  context.output = parsed.invocation.output;
  context.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  context.err_columns = TerminalColumns(STDERR_FILENO);
  if (!parsed.status.ok()) return static_cast<int>(Fail(context, parsed.status));
  return static_cast<int>(std::visit(
      [&](const auto& arguments) { return ConnectAndRun(context, parsed.invocation, arguments); },
      parsed.invocation.command));
}

}  // namespace
}  // namespace dunlin::kvctl

int main(int argc, char** argv) { return dunlin::kvctl::Main(argc, argv); }
