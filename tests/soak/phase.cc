#include "tests/soak/phase.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "tests/soak/loader_process.h"

namespace dunlin::testing {
namespace {

constexpr size_t kLoaders = 2;
constexpr int64_t kNanosOfAMilli = 1'000'000;
// A loader's longest time to live, and the fleet's, have passed by then.
constexpr int kExpiryMillis = 6000;

int64_t Now() { return SystemClock().NowNanos(); }

// Looks at the server's status twice a second.
class Sampler {
 public:
  explicit Sampler(Client& client) : client_(client), thread_([this] { Run(); }) {}
  ~Sampler() { End(); }

  void End() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  // After End().
  void Report(PhaseFigures* figures) const {
    figures->samples = samples_;
    figures->most_used_bytes = most_used_bytes_;
    figures->most_sessions = most_sessions_;
    figures->last = last_;
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ending_) {
      lock.unlock();
      auto status = client_.Status();
      lock.lock();
      if (status.ok()) {
        ++samples_;
        most_used_bytes_ = std::max(most_used_bytes_, status->heap_used_bytes);
        most_sessions_ = std::max<uint64_t>(most_sessions_, status->sessions.size());
        last_ = *std::move(status);
      }
      wake_.wait_for(lock, std::chrono::milliseconds(500), [this] { return ending_; });
    }
  }

  Client& client_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  uint64_t samples_ = 0, most_used_bytes_ = 0, most_sessions_ = 0;
  ServerStatus last_;
  std::thread thread_;  // last: it uses the others
};

void AddLoad(const LoaderPage& page, LoadFigures* sum) {
  sum->gets += page.gets;
  sum->puts += page.puts;
  sum->removes += page.removes;
  sum->hits += page.hits;
  sum->evicted += page.evicted;
  sum->expired += page.expired;
  sum->refused += page.refused;
  sum->errors += page.errors;
  sum->unknown += page.unknown;
  sum->waves += page.waves;
  sum->most_records += page.most_records;
  sum->violations += page.violations;
  sum->found_late_nanos = std::max(sum->found_late_nanos, page.found_late_nanos.load());
  sum->gone_early_nanos = std::max(sum->gone_early_nanos, page.gone_early_nanos.load());
}

class Phase {
 public:
  explicit Phase(const PhasePlan& plan) : plan_(plan) { figures_.mode = plan.mode; }

  absl::StatusOr<PhaseFigures> Run() {
    DUNLIN_RETURN_IF_ERROR(Begin());
    Sampler sampler(*client_);
    const int64_t begun = Now();
    DUNLIN_RETURN_IF_ERROR(RunFleet(begun + plan_.nanos));
    DUNLIN_RETURN_IF_ERROR(EndLoaders());
    figures_.seconds = static_cast<double>(Now() - begun) * 1e-9;
    sampler.End();
    sampler.Report(&figures_);
    JudgeExpiry();
    DUNLIN_RETURN_IF_ERROR(Account());
    return std::move(figures_);
  }

  std::string EndOfLog() const {
    constexpr size_t kMost = 2000;
    const std::string log = server_ == nullptr ? "" : server_->Log();
    return log.size() <= kMost ? log : log.substr(log.size() - kMost);
  }

 private:
  absl::Status Begin() {
    DUNLIN_ASSIGN_OR_RETURN(
        server_, ServerProcess::Start({.binary = plan_.server_binary,
                                       .memory = std::to_string(plan_.memory_mib) + "MiB",
                                       .more = {"--mode", plan_.mode, "--records", "1000",
                                                "--grace", "200ms", "--patrol-period", "1s"},
                                       .fabric = plan_.fabric}));
    DUNLIN_ASSIGN_OR_RETURN(client_, Client::Connect(server_->target()));
    for (size_t i = 0; i < kLoaders; ++i) {
      LoaderProcess::Options options;
      options.binary = plan_.loader_binary;
      options.target = server_->target();
      options.prefix = "bulk-" + std::to_string(i) + "-";
      options.seed = plan_.seed + i;
      options.cache = plan_.mode == "cache";
      // More than there is: in the store writes are refused, in the cache others make room.
      options.wave_bytes = plan_.memory_mib * 1'500'000 / kLoaders;
      DUNLIN_ASSIGN_OR_RETURN(auto loader, LoaderProcess::Start(options));
      loaders_.push_back(std::move(loader));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ExpiryTolerance() {
    DUNLIN_ASSIGN_OR_RETURN(const ServerStatus status, client_->Status());
    return static_cast<int64_t>(status.tick_lag_ms_max + 2) * kNanosOfAMilli;
  }

  absl::Status RunFleet(int64_t end) {
    FleetPlan plan;
    plan.binary = plan_.client_binary;
    plan.target = server_->target();
    plan.folder = server_->folder();
    plan.seed = plan_.seed;
    plan.records_may_vanish = plan_.mode == "cache";
    if (plan_.fabric.name == "rdma") {
      plan.clients = 4;
      plan.fault_nanos = 200 * kNanosOfAMilli;
    }
    Fleet fleet(plan);
    static constexpr uint32_t kSizes[] = {100, 600, 3000, 20'000};
    for (size_t round = 0; Now() < end; ++round) {
      fleet.set_largest_value(kSizes[round % std::size(kSizes)]);
      DUNLIN_RETURN_IF_ERROR(fleet.RunRound());
      DUNLIN_ASSIGN_OR_RETURN(const int64_t tolerance, ExpiryTolerance());
      fleet.CheckRound(tolerance);
    }
    figures_.fleet = fleet.figures();
    return absl::OkStatus();
  }

  absl::Status EndLoaders() {
    for (auto& loader : loaders_) {
      DUNLIN_RETURN_IF_ERROR(loader->End());
      AddLoad(loader->page(), &figures_.load);
      if (loader->page().violations != 0) figures_.faults.push_back(loader->page().message);
    }
    return absl::OkStatus();
  }

  void JudgeExpiry() {
    const auto tolerance = static_cast<int64_t>(figures_.last.tick_lag_ms_max + 2) * kNanosOfAMilli;
    const auto judge = [&](const char* what, int64_t nanos) {
      if (nanos <= tolerance) return;
      figures_.faults.push_back(std::string(what) + " by " + std::to_string(nanos) +
                                " ns; the server's clock accounts for " +
                                std::to_string(tolerance));
    };
    judge("a record was found after it had expired", figures_.load.found_late_nanos);
    judge("a record was gone before it expired", figures_.load.gone_early_nanos);
  }

  absl::Status Account() {
    poll(nullptr, 0, kExpiryMillis);
    // Over a network the client has a session of its own, which watches the server.
    const size_t own = plan_.fabric.name == "shm" ? 1 : 2;
    const Milliseconds patience(60'000);
    DUNLIN_ASSIGN_OR_RETURN(auto session, client_->OpenSession());
    DUNLIN_RETURN_IF_ERROR(AwaitRest(*client_, own, patience).status());
    figures_.account = AccountForHeap(*client_, *session, patience);
    return absl::OkStatus();
  }

  const PhasePlan plan_;
  PhaseFigures figures_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<LoaderProcess>> loaders_;
};

}  // namespace

absl::StatusOr<PhaseFigures> RunPhase(const PhasePlan& plan) {
  Phase phase(plan);
  absl::StatusOr<PhaseFigures> figures = phase.Run();
  if (figures.ok()) return figures;
  return MakeStatus(figures.status().code(), std::string(FromAbsl(figures.status().message())) +
                                                 "; the server's log ends with\n" +
                                                 phase.EndOfLog());
}

}  // namespace dunlin::testing
