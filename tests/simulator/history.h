#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dunlin/outcome.h"
#include "tests/simulator/faults.h"
#include "tests/support/linearizability/history.h"

namespace dunlin::simulator {

using linearizability::Answer;
using linearizability::Kind;
using linearizability::Operation;

// All that clients asked and were told in a run, in simulated time.
class History {
 public:
  struct Call {
    uint32_t key = 0;
    Operation operation;
    Outcome outcome = Outcome::kUnknown;
    bool many = false;  // one of several in one call, which may take longer
    int64_t held = 0;   // Process::held() at its beginning
  };

  // Returns its number.
  size_t Begin(uint32_t key, const Operation& operation, int64_t held) {
    calls_.push_back({key, operation, Outcome::kUnknown, false, held});
    return calls_.size() - 1;
  }
  Call& at(size_t number) { return calls_[number]; }
  const std::vector<Call>& calls() const { return calls_; }

  // What is wrong without any search: a value that was never written for its key, ...
  void AddFault(std::string fault) { faults_.push_back(std::move(fault)); }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::vector<Call> calls_;
  std::vector<std::string> faults_;
};

// The answer that an outcome is; kNoEffect for errors that promise that.
Answer AnswerOf(Outcome outcome);

struct HistoryReport {
  std::vector<std::string> violations;
  uint32_t undecided = 0;  // keys
  uint64_t checked = 0;    // operations
};

// Holds every key's history against a sequential map, each incarnation of the server by itself: it
// begins with nothing. `crashes`: when it lost everything. `first_version(i)` is that of
// incarnation i, counted from 0.
HistoryReport CheckHistory(const History& history, const std::vector<int64_t>& crashes,
                           const std::vector<uint64_t>& first_versions, const Faults& faults);

}  // namespace dunlin::simulator
