#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dunlin::kvbench {

// Which single measurements are kept beside the histograms, with the time at which each was taken:
// none, what came in each millisecond together, or all.
enum class Keep : uint8_t { kNone, kMilliseconds, kAll };

// One measurement, or all of one millisecond.
struct Point {
  int64_t unix_millis = 0;
  uint64_t count = 0;
  // Sums of whole microseconds, as YCSB measures.
  uint64_t call_micros = 0;
  uint64_t intended_micros = 0;
};

// What is kept of one metric, in the order of time. Not thread safe.
class Points {
 public:
  // A gibibyte. What comes behind is only counted.
  static constexpr size_t kMost = size_t{1} << 25;

  void Add(Keep keep, int64_t unix_millis, uint64_t call_nanos, uint64_t intended_nanos);
  void Merge(const Points& other);
  void Clear();

  const std::vector<Point>& all() const { return all_; }
  uint64_t left_out() const { return left_out_; }

 private:
  std::vector<Point> all_;
  uint64_t left_out_ = 0;
};

}  // namespace dunlin::kvbench
