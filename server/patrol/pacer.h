#pragma once

#include <algorithm>
#include <cstdint>

namespace dunlin {

// How much time background work may take: `share` of each stretch of time. What is not used is kept
// for a moment only, so that after a rest it goes on at its pace. Not thread safe.
class Pacer {
 public:
  explicit Pacer(int64_t now) : last_(now) {}

  // Whether a small piece of work may be done now.
  bool May(int64_t now, double share) {
    credit_ += static_cast<double>(std::max<int64_t>(0, now - last_)) * share;
    last_ = std::max(last_, now);
    credit_ = std::min(credit_, kMostSaved * share);
    return credit_ > 0;
  }
  // It took so long.
  void Spent(int64_t nanos) {
    credit_ -= static_cast<double>(nanos);
    total_ += nanos;
  }
  // Since the start.
  int64_t total() const { return total_; }

 private:
  static constexpr double kMostSaved = 200e6;

  int64_t last_;
  double credit_ = 0;
  int64_t total_ = 0;
};

}  // namespace dunlin
