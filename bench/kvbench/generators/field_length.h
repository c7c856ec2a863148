#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/generators/zipfian.h"
#include "common/base/random.h"

namespace dunlin::kvbench {

// Lengths of fields, as `fieldlengthdistribution` has them. One a thread; copied from a first one.
class FieldLength {
 public:
  static FieldLength Constant(uint32_t length) { return FieldLength(Same{length}, length); }
  // Both from `least` to `most`, inclusive; zipfian: the shorter, the more often. REQUIRES: least
  // <= most.
  static FieldLength Uniform(uint32_t least, uint32_t most);
  static FieldLength OfZipfian(uint32_t least, uint32_t most);
  // YCSB's file: a line "BlockSize<tab>n", then lines "i<tab>count": lengths of (i + 1) * n.
  // `name` is the file's, for messages.
  static absl::StatusOr<FieldLength> Histogram(std::string_view text, std::string_view name);

  uint32_t Next(Random& random);
  uint32_t most() const { return most_; }

 private:
  struct Same {
    uint32_t length;
  };
  struct Range {
    uint32_t least, most;
  };
  struct Skewed {
    uint32_t least;
    Zipfian zipfian;
  };
  struct Counted {
    uint32_t block;
    std::vector<uint64_t> upto;  // counts of all buckets up to this one
  };
  using Kind = std::variant<Same, Range, Skewed, Counted>;

  FieldLength(Kind kind, uint32_t most) : kind_(std::move(kind)), most_(most) {}

  Kind kind_;
  uint32_t most_;
};

}  // namespace dunlin::kvbench
