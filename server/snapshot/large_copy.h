#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/layout/checksum.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"

namespace dunlin {

// Copies one record that is too large for one step, a piece at a time, and checks it on the way.
// Its owner sees to it that the record's memory is not reused meanwhile.
class LargeCopy {
 public:
  // REQUIRES: at `record` lie the bytes that `header`, which is its, speaks of.
  LargeCopy(SlotWord word, const std::byte* record, RecordHeader header, uint64_t tick)
      : word_(word), record_(record), header_(header), since_tick_(tick) {}

  SlotWord word() const { return word_; }
  uint64_t record_bytes() const { return header_.record_bytes(); }
  uint64_t since_tick() const { return since_tick_; }

  // Appends the next piece. True: that was the last one.
  bool Step(std::vector<std::byte>& to);
  // Whether what was appended is whole. REQUIRES: Step returned true.
  bool Good() const { return sum_ && sum_->Sum() == checksum_; }

 private:
  SlotWord word_;
  const std::byte* record_;
  RecordHeader header_;
  uint64_t since_tick_;
  uint64_t checksum_ = 0;
  std::optional<RecordChecksumStream> sum_;
  uint64_t copied_ = 0;
};

}  // namespace dunlin
