#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/random.h"
#include "tests/linearizability/client_process.h"
#include "tests/support/linearizability/checker.h"

namespace dunlin::testing {

struct FleetPlan {
  std::string binary;  // of the client
  std::string target;
  std::string folder;  // for recordings
  uint64_t seed = 1;
  uint32_t clients = 6;
  int64_t round_nanos = 2'000'000'000;  // a round ends then at the latest,
  uint32_t clients_of_a_round = 24;     // or when so many have begun
  uint64_t recorded = 8000;             // operations of one client, after which another takes over
  // Mean time between two faults, a quarter of them stops; 0: none.
  int64_t fault_nanos = 20'000'000;
  int64_t longest_stop_nanos = 300'000'000;
  uint32_t hot_keys = 5;
  uint32_t spread_keys = 200;
  uint32_t largest_value = 600;
  uint32_t stale_clients = 0;
  // Set: half of the faults are this instead, which cuts connections after so many more bytes.
  std::function<void(uint64_t bytes)> cut;
  uint64_t max_configurations = 4'000'000;
  bool records_may_vanish = false;  // a cache
};

struct FleetFigures {
  uint64_t rounds = 0, clients = 0, operations = 0, histories = 0;
  uint64_t kills = 0, stops = 0, cuts = 0;
  uint64_t ended_by_server = 0;  // clients that the server had to kill, as they held others up
  uint64_t unanswered = 0;       // operations of clients that died in them
  uint64_t unknown = 0, errors = 0;
  uint64_t configurations = 0;
  // Calls that waited for a lock, or for a record that was being moved, and were under way when a
  // client was killed, and none stopped: how many, and the longest time from its death to their
  // end, less what they waited for a processor. The server's waits for one are in it.
  uint64_t waits = 0;
  int64_t longest_wait_nanos = 0;
  std::vector<std::string> violations;
  std::vector<std::string> undecided;

  std::string Text() const;
};

using Histories = std::map<uint32_t, std::vector<linearizability::Operation>>;  // by key

// Many client processes, of which some are killed and replaced and some stopped for a while, and
// the histories of what they saw.
class Fleet {
 public:
  explicit Fleet(const FleetPlan& plan) : plan_(plan), random_(plan.seed) {}

  // One round, on keys of its own; all clients have ended when it returns.
  absl::Status RunRound();
  // Of the last round. `expiry_tolerance` as in the checker's options; by how much the clients may
  // have misjudged the server's clock comes on top.
  void CheckRound(int64_t expiry_tolerance);

  void set_largest_value(uint32_t bytes) { plan_.largest_value = bytes; }
  const Histories& histories() const { return histories_; }
  const FleetFigures& figures() const { return figures_; }

 private:
  absl::Status Begin();
  // Waits until something is to be done: a client ended, or it is `until`.
  void Await(int64_t until) const;
  absl::Status ReplaceEnded();
  void Disturb(int64_t now);
  void ContinueStopped(int64_t now);
  void EndStop(uint32_t client);
  absl::Status EndAll();
  void Collect();
  void MeasureWaits();
  void ReportForbidden(ClientProcess& client);

  FleetPlan plan_;
  Random random_;
  uint32_t numbers_ = 0;  // of clients, given out
  uint32_t begun_ = 0;    // in this round
  std::string prefix_;
  std::vector<std::unique_ptr<ClientProcess>> active_;
  std::vector<std::unique_ptr<ClientProcess>> ended_;
  std::map<uint32_t, int64_t> continue_at_;  // by client
  struct Stop {
    uint32_t client = 0;
    int64_t from = 0, until = 0;
  };
  bool OverlapsAStop(const linearizability::Operation& operation) const;

  std::vector<int64_t> deaths_;
  std::vector<Stop> stops_;
  Histories histories_;
  int64_t clock_error_ = 0;  // of the last round's clients, the largest; nanoseconds
  FleetFigures figures_;
};

}  // namespace dunlin::testing
