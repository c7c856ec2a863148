#include "bench/kvbench/measure/points.h"

#include <algorithm>

namespace dunlin::kvbench {

void Points::Add(Keep keep, int64_t unix_millis, uint64_t call_nanos, uint64_t intended_nanos) {
  const Point point{unix_millis, 1, call_nanos / 1000, intended_nanos / 1000};
  if (keep == Keep::kMilliseconds && !all_.empty() && all_.back().unix_millis == unix_millis) {
    Point& last = all_.back();
    ++last.count;
    last.call_micros += point.call_micros;
    last.intended_micros += point.intended_micros;
  } else if (all_.size() < kMost) {
    all_.push_back(point);
  } else {
    ++left_out_;
  }
}

void Points::Merge(const Points& other) {
  const size_t taken = std::min(other.all_.size(), kMost - all_.size());
  const auto middle = static_cast<ptrdiff_t>(all_.size());
  all_.insert(all_.end(), other.all_.begin(), other.all_.begin() + static_cast<ptrdiff_t>(taken));
  left_out_ += other.left_out_ + (other.all_.size() - taken);
  if (taken == 0) return;
  const auto earlier = [](const Point& a, const Point& b) { return a.unix_millis < b.unix_millis; };
  const auto behind = all_.begin() + middle;
  // Only what is later than the first that came: the rest is where it belongs.
  std::inplace_merge(std::upper_bound(all_.begin(), behind, *behind, earlier), behind, all_.end(),
                     earlier);
}

void Points::Clear() {
  all_.clear();
  left_out_ = 0;
}

}  // namespace dunlin::kvbench
