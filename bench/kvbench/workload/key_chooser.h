#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <variant>

#include "bench/kvbench/generators/acknowledged_counter.h"
#include "bench/kvbench/generators/draws.h"
#include "bench/kvbench/generators/zipfian.h"
#include "bench/kvbench/workload/workload_config.h"
#include "common/base/random.h"

namespace dunlin::kvbench {

// Which records an operation is on, as `requestdistribution` says. One a thread, copied from a
// first one, which has paid for the sums.
class KeyChooser {
 public:
  // `inserted` and `sequence`, which all threads share, must outlive it.
  KeyChooser(const WorkloadConfig& config, const AcknowledgedCounter* inserted,
             std::atomic<int64_t>* sequence);

  // A record's number that has been inserted: drawn again until it is.
  int64_t Next(Random& random) {
    int64_t number;
    NextMany(std::span(&number, 1), random);
    return number;
  }

  // As many as fit. Costs less for each than one by one: the processor works on several at once.
  void NextMany(std::span<int64_t> numbers, Random& random);

 private:
  struct Uniform {
    int64_t low;
    uint64_t count;
  };
  struct Sequential {
    int64_t low;
    int64_t count;
    std::atomic<int64_t>* sequence;
  };
  struct Latest {
    Zipfian zipfian;
  };
  using Kind = std::variant<Uniform, ScrambledZipfian, Latest, Hotspot, Sequential, Exponential>;

  static Kind Make(const WorkloadConfig& config, const AcknowledgedCounter& inserted,
                   std::atomic<int64_t>* sequence);
  static int64_t Draw(Uniform& uniform, int64_t last, Random& random);
  static int64_t Draw(ScrambledZipfian& zipfian, int64_t last, Random& random);
  static int64_t Draw(Latest& latest, int64_t last, Random& random);
  static int64_t Draw(Hotspot& hotspot, int64_t last, Random& random);
  static int64_t Draw(Sequential& sequential, int64_t last, Random& random);
  static int64_t Draw(Exponential& exponential, int64_t last, Random& random);

  const AcknowledgedCounter* inserted_;
  Kind kind_;
};

}  // namespace dunlin::kvbench
