#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/random.h"
#include "common/base/unique_fd.h"
#include "dunlin/client.h"
#include "tests/linearizability/recording.h"

namespace dunlin::testing {

struct WorkloadPlan {
  uint64_t seed = 1;
  uint32_t client = 0;    // number; no two clients of a run have the same
  std::string prefix;     // of all keys
  uint32_t hot_keys = 5;  // half of the operations go to these
  uint32_t spread_keys = 200;
  uint32_t largest_value = 600;
  bool large_values = true;  // now and then one of 40 KiB or more
  bool stale = false;        // a broken client: some gets are answered from an old private copy
};

// One client that does everything the interface has, at random, and records what it was told:
// single calls, calls for many keys, known keys, and submitted ones in a second session. Keys have
// their own habits by their number: counters, short-lived ones, contended ones.
class Workload {
 public:
  Workload(const WorkloadPlan& plan, Session& blocking, Session& submitting, Recording& recording);
  ~Workload();

  // False: the recording is full, or was told to stop.
  bool Step();

 private:
  using Operation = linearizability::Operation;
  struct InFlight;

  std::string KeyName(uint32_t key) const;
  uint32_t PickKey();
  std::vector<uint32_t> PickKeys();
  Operation PickRead() const;
  Operation PickWrite(uint32_t key, std::string* value);
  void PickValue(uint32_t key, bool integer, Operation* operation, std::string* value);
  std::optional<int64_t> PickTtl(uint32_t key);

  void NoteClockError();
  void Single(uint32_t key);
  void Known(uint32_t key);
  void ManyGets();
  void ManyPuts();
  void ManyRemoves();
  void Submit(uint32_t key);

  WriteResult Execute(uint32_t key, const Operation& operation, const std::string& value);
  void Read(uint32_t key, uint64_t entry, Operation operation, const GetResult& result,
            std::string_view value);
  void Wrote(uint32_t key, uint64_t entry, Operation operation, const WriteResult& result);
  void Note(Outcome outcome, uint32_t key, Operation* operation);
  bool AnsweredFromAStaleCopy(uint32_t key);
  Wait Waited() const;  // the blocking session, in this step

  const WorkloadPlan plan_;
  Random random_;
  Session& blocking_;
  Session& submitting_;
  Recording& recording_;
  uint64_t values_ = 0;
  // Before this step.
  uint64_t retries_ = 0;  // of the blocking session
  int64_t unscheduled_ = 0;
  std::vector<uint64_t> last_version_;  // seen of each key; 0: none
  std::unordered_map<uint32_t, KnownKey> known_;
  std::unordered_map<uint32_t, Operation> copies_;  // of a stale client
  std::vector<std::unique_ptr<InFlight>> in_flight_;
  const UniqueFd schedule_;
};

}  // namespace dunlin::testing
