#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/options.h"
#include "common/base/status.h"
#include "server/listener.h"
#include "server/network.h"
#include "server/options.h"
#include "server/region.h"
#include "server/server.h"
#include "server/snapshot/start.h"

extern char** environ;

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// A session takes two descriptors, its connection and its process.
void RaiseOpenFiles(const dunlin::ServerOptions& options, dunlin::Logger& logger) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  uint64_t wanted = 2 * static_cast<uint64_t>(options.max_sessions) + 256;
  if (limit.rlim_cur < wanted) {
    logger.Warning("max-sessions " + std::to_string(options.max_sessions) + " needs " +
                   std::to_string(wanted) + " open files, the limit is " +
                   std::to_string(limit.rlim_cur) + "; raise it (ulimit -n, LimitNOFILE=)");
  }
}

// DataLoss with `damaged` longer by one: that snapshot can't be loaded, another might be.
absl::Status Serve(const dunlin::ServerOptions& options, bool max_value_is_default,
                   std::vector<dunlin::DamagedSnapshot>& damaged, dunlin::Logger& logger,
                   const dunlin::Clock& clock) {
  // Before the first byte of memory is taken: a second server must not cost the first one its room.
  DUNLIN_ASSIGN_OR_RETURN(auto listener, dunlin::Listener::Bind(options));
  dunlin::SnapshotStart start;
  std::optional<uint64_t> hash_seed;
  if (!options.snapshot_dir.empty()) {
    DUNLIN_ASSIGN_OR_RETURN(start,
                            dunlin::ChooseSnapshot(options, damaged, DUNLIN_RELEASE, logger));
    hash_seed = start.store->hash_seed();
  }
  DUNLIN_ASSIGN_OR_RETURN(auto region,
                          dunlin::Region::Create(options, max_value_is_default, logger, hash_seed));
  DUNLIN_ASSIGN_OR_RETURN(auto network, dunlin::OpenNetwork(options, *region, &clock, logger));
  dunlin::Server server(options, std::move(listener), std::move(region), std::move(network), &clock,
                        &logger, DUNLIN_RELEASE);
  if (start.store != nullptr) {
    const uint64_t id = start.reader != nullptr ? start.reader->info().id : 0;
    absl::Status loaded = server.StartSnapshots(std::move(start));
    if (absl::IsDataLoss(loaded)) {
      damaged.push_back({id, std::string(dunlin::FromAbsl(loaded.message()))});
    }
    DUNLIN_RETURN_IF_ERROR(loaded);
  }
  return server.Run();
}

absl::Status ServeFromGoodSnapshot(const dunlin::ServerOptions& options, bool max_value_is_default,
                                   dunlin::Logger& logger, const dunlin::Clock& clock) {
  std::vector<dunlin::DamagedSnapshot> damaged;
  for (;;) {
    const size_t known = damaged.size();
    const absl::Status status = Serve(options, max_value_is_default, damaged, logger, clock);
    if (damaged.size() == known) return status;
    logger.Error("snapshot " + std::to_string(damaged.back().id) +
                 " is damaged: " + damaged.back().why);
  }
}

}  // namespace

int main(int argc, char** argv) {
  dunlin::ServerOptions options;
  options.socket = dunlin::DefaultSocketPath(geteuid() == 0, getenv("XDG_RUNTIME_DIR"), geteuid());
  dunlin::OptionSet set("dunlin-server",
                        "Serves a region of memory as a key-value store to clients that map it.");
  dunlin::DeclareOptions(options, set);
  std::vector<const char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  auto action =
      set.Read(std::span<const char* const>(argv + 1, static_cast<size_t>(argc - 1)), environment);
  absl::Status status = action.ok() ? dunlin::CheckOptions(options) : action.status();
  if (!status.ok()) {
    std::fprintf(stderr, "dunlin-server: %s\nTry dunlin-server --help.\n",
                 std::string(dunlin::FromAbsl(status.message())).c_str());
    return kUsage;
  }
  switch (*action) {
    case dunlin::OptionSet::Action::kHelp:
      std::printf("%s%s", set.Help().c_str(), dunlin::ExitCodesHelp().c_str());
      return 0;
    case dunlin::OptionSet::Action::kVersion:
      std::printf("dunlin-server %s\n", DUNLIN_RELEASE);
      return 0;
    case dunlin::OptionSet::Action::kPrintConfig:
      std::printf("%s", set.PrintConfig().c_str());
      return 0;
    case dunlin::OptionSet::Action::kRun:
      break;
  }
  // Blocked before anything starts, so that a signal during start-up ends the server in order.
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  sigprocmask(SIG_BLOCK, &mask, nullptr);

  dunlin::SystemClock clock;
  dunlin::Logger logger({2, static_cast<dunlin::LogLevel>(options.log_level),
                         static_cast<dunlin::LogFormat>(options.log_format)},
                        &clock);
  RaiseOpenFiles(options, logger);
  bool max_value_is_default = set.OriginOf("max-value-size") == "default";
  status = ServeFromGoodSnapshot(options, max_value_is_default, logger, clock);
  if (!status.ok()) {
    logger.Error(std::string(dunlin::FromAbsl(status.message())));
    return kFailed;
  }
  return 0;
}
