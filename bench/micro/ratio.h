#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dunlin::bench {

// Measures a subject beside its limit, in turns of a few thousand operations within one run, so
// that what disturbs the machine disturbs both. Reports the medians and their ratio.
class Ratio {
 public:
  // `run(first, count)` carries out `count` operations from the `first` one of a sequence.
  template <typename Limit, typename Subject>
  void Turn(uint64_t first, uint64_t count, Limit&& limit, Subject&& subject) {
    limit_.push_back(Nanos(count, [&] { limit(first, count); }));
    subject_.push_back(Nanos(count, [&] { subject(first, count); }));
  }

  // What the misses alone cost that the subject must wait for one after the other. Tells how far
  // there is to go; no bound is made of it.
  template <typename Floor>
  void FloorTurn(uint64_t first, uint64_t count, Floor&& floor) {
    floor_.push_back(Nanos(count, [&] { floor(first, count); }));
  }

  void Report(benchmark::State& state, double bound) {
    if (!floor_.empty()) state.counters["floor_ns"] = Median(floor_);
    double limit = Median(limit_);
    double subject = Median(subject_);
    state.counters["limit_ns"] = limit;
    state.counters["dunlin_ns"] = subject;
    state.counters["ratio"] = subject / limit;
    state.counters["bound"] = bound;
  }

 private:
  template <typename Body>
  static double Nanos(uint64_t count, Body&& body) {
    int64_t begin = ThreadNanos();
    body();
    return static_cast<double>(ThreadNanos() - begin) / static_cast<double>(count);
  }
  // CPU time of this thread: what others do on the core in between is not counted.
  static int64_t ThreadNanos() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  static double Median(std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
  }

  std::vector<double> limit_;
  std::vector<double> subject_;
  std::vector<double> floor_;
};

}  // namespace dunlin::bench
