#include "tests/simulator/simulation.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "common/base/check.h"
#include "tests/simulator/clients.h"
#include "tests/simulator/history.h"
#include "tests/simulator/rest_check.h"
#include "tests/simulator/server_host.h"

namespace dunlin::simulator {
namespace {

// Nothing is stuck that needs longer than this.
constexpr int64_t kLongestPhase = 600 * kSecond;
// Faults may come so fast that nothing gets done. But only for so long.
constexpr int64_t kFaultyTime = 60 * kSecond;
constexpr uint64_t kMostEvents = 20'000'000;

class Simulation {
 public:
  Simulation(uint64_t seed, const Faults& faults, bool trace)
      : faults_(faults),
        world_(seed, trace),
        server_(&world_, &faults_),
        clients_(&world_, &faults_, &history_,
                 [this](Process* process, uint64_t number) -> std::shared_ptr<Link> {
                   return server_.up() ? server_.Accept(process, number) : nullptr;
                 }) {}

  Outline Run() {
    StartServer();
    clients_.Start();
    StartFaults();
    const bool ended = RunUntil([this] { return clients_.ended(); }, "the load");
    quiet_ = true;
    if (ended && Quiet()) CheckRest();
    CheckAll();
    Count();
    return std::move(outline_);
  }

 private:
  // Runs until `over`, or until it is plain that it never will be.
  template <typename Over>
  bool RunUntil(Over&& over, const char* what) {
    const int64_t latest = world_.now() + kLongestPhase;
    const uint64_t most = world_.events() + kMostEvents;
    while (!over()) {
      if (world_.now() > latest || world_.events() > most || !world_.Step()) {
        outline_.violations.push_back(std::string("stuck: ") + what + " does not end");
        return false;
      }
    }
    return true;
  }

  // At random times, `mean` apart, until all is quiet.
  void Every(int64_t mean, std::function<void()> act) {
    if (mean == 0) return;
    world_.After(UpTo(2 * mean), [this, mean, act = std::move(act)] {
      if (quiet_ || world_.now() > kFaultyTime) return;
      act();
      Every(mean, act);
    });
  }
  int64_t UpTo(int64_t most) {
    return 1 + static_cast<int64_t>(world_.random().Below(static_cast<uint64_t>(most)));
  }

  void StartServer() {
    server_.Start();
    first_versions_.push_back(server_.core().config().first_version);
  }

  void StartFaults() {
    Every(faults_.kill_every, [this] { clients_.KillOne(); });
    Every(faults_.stop_every, [this] { clients_.StopOne(); });
    Every(faults_.cut_every, [this] { clients_.CutOne(); });
    Every(faults_.loss_report_every, [this] { clients_.ReportLoss(); });
    Every(faults_.stall_every,
          [this] { server_.Stall(world_.now() + UpTo(faults_.longest_stall)); });
    Every(faults_.jump_every, [this] {
      if (world_.random().OneIn(2)) return clients_.JumpOne();
      server_.Jump(UpTo(faults_.longest_jump));
    });
    Every(faults_.crash_every, [this] {
      if (!server_.up()) return;
      server_.Crash();
      world_.After(UpTo(faults_.longest_downtime), [this] { StartServer(); });
    });
  }

  // Reads back what is there, and lets the server put everything in order.
  bool Quiet() {
    if (!RunUntil([this] { return server_.up(); }, "the server's start")) return false;
    clients_.StartReader();
    if (!RunUntil([this] { return clients_.ended(); }, "the last reader")) return false;
    const uint64_t sweep = server_.core().patrol().RequestSweep();
    const bool swept = RunUntil([&] { return server_.core().patrol().Swept(sweep); }, "a sweep");
    // What it found, and what was moved meanwhile, waits for the end of its grace period.
    return swept && RunUntil(
                        [this] {
                          return server_.core().allocator().pool().grace_bytes() == 0 &&
                                 server_.core().sessions().all().empty() &&
                                 server_.core().grower().splitting() == nullptr;
                        },
                        "the server's tidying up");
  }

  void CheckRest() {
    server_.TakeFault();
    server_.CountWork();
    for (const std::string& fault : server_.faults()) outline_.violations.push_back(fault);
    RestReport rest = CheckAtRest(server_);
    outline_.records = rest.records;
    outline_.leaked_bytes = rest.leaked_bytes;
    std::move(rest.violations.begin(), rest.violations.end(),
              std::back_inserter(outline_.violations));
  }

  void CheckAll() {
    HistoryReport checked = CheckHistory(history_, server_.crash_times(), first_versions_, faults_);
    outline_.undecided = checked.undecided;
    std::move(checked.violations.begin(), checked.violations.end(),
              std::back_inserter(outline_.violations));
  }

  void Count() {
    for (const History::Call& call : history_.calls()) {
      ++outline_.operations;
      const Answer answer = call.operation.answer;
      ++(answer == Answer::kUnknown    ? outline_.unknown
         : answer == Answer::kNoEffect ? outline_.no_effect
                                       : outline_.answered);
      outline_.memory_full += call.outcome == Outcome::kMemoryFull;
      outline_.index_full += call.outcome == Outcome::kIndexFull;
    }
    outline_.digest = world_.digest();
    outline_.events = world_.events();
    outline_.simulated = world_.now() - kSecond;
    outline_.kills = clients_.counts().kills;
    outline_.stops = clients_.counts().stops;
    outline_.cuts = clients_.counts().cuts;
    outline_.jumps = clients_.counts().jumps;
    outline_.connections = clients_.counts().connections;
    outline_.stalls = server_.counts().stalls;
    outline_.crashes = server_.counts().crashes;
    outline_.ended_by_force = server_.counts().ended_by_force;
    outline_.swept = server_.counts().swept;
    outline_.relocated = server_.counts().relocated;
    outline_.expired = server_.counts().expired;
    outline_.splits = server_.counts().splits;
    outline_.evicted = server_.counts().evicted;
    outline_.locks_released = server_.counts().locks_released;
    outline_.blocks_recovered = server_.counts().blocks_recovered;
    outline_.reconnects = clients_.shared().reconnects;
    outline_.resolved = clients_.shared().resolved;
    outline_.absorbed = clients_.shared().absorbed;
  }

  const Faults faults_;
  World world_;
  History history_;
  ServerHost server_;
  Clients clients_;
  std::vector<uint64_t> first_versions_;
  bool quiet_ = false;
  Outline outline_;
};

}  // namespace

void Outline::Add(const Outline& other) {
  for (uint64_t Outline::*field : {&Outline::events,
                                   &Outline::operations,
                                   &Outline::answered,
                                   &Outline::unknown,
                                   &Outline::no_effect,
                                   &Outline::memory_full,
                                   &Outline::index_full,
                                   &Outline::kills,
                                   &Outline::stops,
                                   &Outline::cuts,
                                   &Outline::jumps,
                                   &Outline::stalls,
                                   &Outline::crashes,
                                   &Outline::connections,
                                   &Outline::reconnects,
                                   &Outline::resolved,
                                   &Outline::absorbed,
                                   &Outline::ended_by_force,
                                   &Outline::swept,
                                   &Outline::relocated,
                                   &Outline::expired,
                                   &Outline::splits,
                                   &Outline::evicted,
                                   &Outline::locks_released,
                                   &Outline::blocks_recovered,
                                   &Outline::records,
                                   &Outline::leaked_bytes,
                                   &Outline::undecided}) {
    this->*field += other.*field;
  }
  simulated += other.simulated;
  digest = digest * 31 + other.digest;
}

std::string Outline::Line() const {
  std::string text = std::to_string(operations) + " operations in " +
                     std::to_string(simulated / kMillisecond) + " ms";
  auto add = [&text](const char* name, uint64_t value) {
    if (value != 0) text += ", " + std::to_string(value) + " " + name;
  };
  add("unknown", unknown);
  add("without effect", no_effect);
  add("memory full", memory_full);
  add("index full", index_full);
  add("absorbed", absorbed);
  add("kills", kills);
  add("stops", stops);
  add("connections", connections);
  add("cut", cuts);
  add("reconnects", reconnects);
  add("resolved", resolved);
  add("server crashes", crashes);
  add("stalls", stalls);
  add("clock jumps", jumps);
  add("locks released", locks_released);
  add("blocks recovered", blocks_recovered);
  add("ended by force", ended_by_force);
  add("splits", splits);
  add("swept", swept);
  add("relocated", relocated);
  add("expired by the patrol", expired);
  add("evicted", evicted);
  add("bytes leaked", leaked_bytes);
  add("keys undecided", undecided);
  return text;
}

Outline Simulate(uint64_t seed, const Faults& faults, bool trace) {
  return Simulation(seed, faults, trace).Run();
}

}  // namespace dunlin::simulator
