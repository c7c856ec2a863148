#include "bench/kvbench/workload/key_chooser.h"

#include <algorithm>

namespace dunlin::kvbench {

KeyChooser::KeyChooser(const WorkloadConfig& config, const AcknowledgedCounter* inserted,
                       std::atomic<int64_t>* sequence)
    : inserted_(inserted), kind_(Make(config, *inserted, sequence)) {}

KeyChooser::Kind KeyChooser::Make(const WorkloadConfig& config, const AcknowledgedCounter& inserted,
                                  std::atomic<int64_t>* sequence) {
  const int64_t low = config.insert_start;
  const int64_t count = std::max<int64_t>(1, config.insert_count);
  switch (config.requests) {
    case RequestDistribution::kUniform:
      break;
    case RequestDistribution::kZipfian: {
      // Room for what the run inserts. One number more than there are, as YCSB has it.
      const double share = config.proportions[static_cast<size_t>(Action::kInsert)];
      const auto expected =
          static_cast<int64_t>(static_cast<double>(config.operation_count) * share * 2);
      return ScrambledZipfian(low, low + config.insert_count + expected);
    }
    case RequestDistribution::kLatest:
      return Latest{Zipfian(static_cast<uint64_t>(std::max<int64_t>(1, inserted.Last())))};
    case RequestDistribution::kHotspot:
      return Hotspot(low, low + count - 1, config.hot_data_fraction, config.hot_operation_fraction);
    case RequestDistribution::kSequential:
      return Sequential{low, count, sequence};
    case RequestDistribution::kExponential:
      return Exponential(config.exponential_percentile,
                         static_cast<double>(config.record_count) * config.exponential_fraction);
  }
  return Uniform{low, static_cast<uint64_t>(count)};
}

int64_t KeyChooser::Draw(Uniform& uniform, int64_t, Random& random) {
  return uniform.low + static_cast<int64_t>(random.Below(uniform.count));
}

int64_t KeyChooser::Draw(ScrambledZipfian& zipfian, int64_t, Random& random) {
  return zipfian.Next(random);
}

int64_t KeyChooser::Draw(Latest& latest, int64_t last, Random& random) {
  const auto items = static_cast<uint64_t>(std::max<int64_t>(1, last));
  return last - static_cast<int64_t>(latest.zipfian.NextOf(items, random));
}

int64_t KeyChooser::Draw(Hotspot& hotspot, int64_t, Random& random) { return hotspot.Next(random); }

int64_t KeyChooser::Draw(Sequential& sequential, int64_t, Random&) {
  const int64_t turn = sequential.sequence->fetch_add(1, std::memory_order_relaxed);
  return sequential.low + turn % sequential.count;
}

int64_t KeyChooser::Draw(Exponential& exponential, int64_t last, Random& random) {
  return last - exponential.Next(random);
}

void KeyChooser::NextMany(std::span<int64_t> numbers, Random& random) {
  const int64_t last = inserted_->Last();
  std::visit(
      [&](auto& kind) {
        for (int64_t& number : numbers) number = Draw(kind, last, random);
        for (int64_t& number : numbers) {
          while (number < 0 || number > last) number = Draw(kind, last, random);
        }
      },
      kind_);
}

}  // namespace dunlin::kvbench
