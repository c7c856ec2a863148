#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kvbench/binding.h"
#include "bench/kvbench/generators/draws.h"
#include "bench/kvbench/measure/recorder.h"
#include "bench/kvbench/measure/tick_clock.h"
#include "bench/kvbench/workload/key_chooser.h"
#include "bench/kvbench/workload/values.h"
#include "bench/kvbench/workload/workload.h"
#include "common/base/random.h"

namespace dunlin::kvbench {

// One thread's operations: composes them as YCSB's CoreWorkload does, has the store carry them out,
// and records how long that took. Not thread safe.
class Operations {
 public:
  // What it is given must outlive it. `batch` is the most operations of one call. `stop` ends waits
  // between attempts.
  Operations(Workload& workload, BindingSession& session, Recorder& recorder,
             const TickClock& clock, size_t batch, uint64_t thread, const std::atomic<bool>& stop);

  // `count` operations of the mix, in one call of the store (a second one follows for what has to
  // be read first). `due` is when the schedule has them begin, in ticks; 0: there is no schedule.
  // False: go on no more, trouble() says why. REQUIRES: 1 <= count <= batch.
  bool Transact(size_t count, uint64_t due);
  // Inserts the next `count` records of the load phase. False as above.
  bool Load(size_t count, uint64_t due);

  // Empty if there was none.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Slot {
    Action action = Action::kRead;
    int64_t number = 0;  // of an insert
    std::string_view key;
    size_t field = 0;    // that a partial update writes, or a read of one field wants
    size_t request = 0;  // in first_
    Return first = Return::kError;
    bool writes_again = false;  // has a request in second_
  };
  struct Span {
    uint64_t start, end;  // ticks
  };
  struct Drawn {
    Action action = Action::kRead;
    std::string_view key;  // of a record that is there: not an insert's
  };

  void DrawAhead();
  void Prepare(size_t index);
  void PrepareAction(size_t index, const Drawn& drawn);
  void PrepareInsert(size_t index, int64_t number);
  std::string_view WriteKeyTo(int64_t number, std::vector<char>& keys, size_t index) const;
  // The whole record, or one field of it. Holds until the next for the same slot.
  std::string_view RecordOf(const Slot& slot, size_t index);
  std::string_view FieldOf(std::string_view key, size_t field);

  Span Call(std::span<Request> requests);
  void Settle(size_t count, Span span);
  bool SettleInserts(size_t count);
  void Verify(const Slot& slot, const Request& read);
  size_t Check(const Slot& slot, const Request& read);
  void WriteAgain(Span first);
  bool Merge(Slot& slot, size_t index);
  bool InsertAll(std::span<Request> requests);
  bool WaitToRetry();

  Workload& workload_;
  const WorkloadConfig& config_;
  BindingSession& session_;
  Recorder& recorder_;
  const TickClock& clock_;
  const std::atomic<bool>& stop_;
  Random random_;
  std::optional<KeyChooser> chooser_;
  WeightedChoice<kActions> choice_;
  FieldLength field_length_;
  ValuePool pool_;
  uint64_t due_ = 0;

  // What the next operations are, and where.
  std::vector<Drawn> drawn_;
  std::vector<int64_t> drawn_numbers_;
  size_t key_room_;
  std::vector<char> drawn_keys_;
  size_t next_drawn_ = 0;

  std::vector<char> keys_;  // a slot's, of an insert
  std::vector<Slot> slots_;
  std::vector<std::string> records_;  // a slot's, where a record is composed
  std::vector<Request> first_, second_;
  std::vector<size_t> again_;  // slots that write what they read: the first seconds_ of it
  size_t firsts_ = 0, seconds_ = 0;
  std::string field_content_;
  std::string trouble_;
};

}  // namespace dunlin::kvbench
