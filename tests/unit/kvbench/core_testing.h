#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/kvbench/binding.h"
#include "common/base/sync.h"

namespace dunlin::kvbench {

// By how many standard deviations counts differ from what their probabilities make one expect:
// Pearson's chi-square, which for so many degrees of freedom is about normal. Cells that are
// expected to hold little are taken together.
inline double ChiSquareSigmas(const std::vector<uint64_t>& counts,
                              const std::vector<double>& probabilities) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  double sum = 0, cells = 0, seen = 0, expected = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    seen += static_cast<double>(counts[i]);
    expected += probabilities[i] * total;
    if (expected < 10 && i + 1 < counts.size()) continue;
    if (expected > 0) {
      sum += (seen - expected) * (seen - expected) / expected;
      ++cells;
    }
    seen = expected = 0;
  }
  const double degrees = cells - 1;
  return (sum - degrees) / std::sqrt(2 * degrees);
}

// A store in memory that keeps account of its calls, and fails when told to.
class MapStore final : public Binding {
 public:
  struct Seen {
    uint64_t calls = 0, reads = 0, updates = 0, inserts = 0, most_in_one = 0;
  };

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<MapSession>(*this);
  }
  std::string Describe() const override { return "map"; }

  // The next so many inserts end in kError.
  void FailInserts(uint64_t count) { failing_inserts_ = count; }
  Seen seen() {
    MutexLock lock(mutex_);
    return seen_;
  }
  std::map<std::string, std::string> records() {
    MutexLock lock(mutex_);
    return records_;
  }
  void Put(const std::string& key, const std::string& value) {
    MutexLock lock(mutex_);
    records_[key] = value;
  }

 private:
  class MapSession final : public BindingSession {
   public:
    explicit MapSession(MapStore& store) : store_(store) {}
    void Execute(std::span<Request> requests) override {
      found_.resize(std::max(found_.size(), requests.size()));
      MutexLock lock(store_.mutex_);
      ++store_.seen_.calls;
      store_.seen_.most_in_one = std::max<uint64_t>(store_.seen_.most_in_one, requests.size());
      for (size_t i = 0; i < requests.size(); ++i) store_.One(requests[i], found_[i]);
    }
    std::string last_error() const override { return {}; }

   private:
    MapStore& store_;
    std::vector<std::string> found_;
  };

  void One(Request& request, std::string& found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    request.returned = Return::kOk;
    const std::string key(request.key);
    switch (request.op) {
      case Op::kRead: {
        ++seen_.reads;
        const auto at = records_.find(key);
        if (at == records_.end()) {
          request.returned = Return::kNotFound;
          return;
        }
        found = at->second;
        request.found = found;
        return;
      }
      case Op::kInsert:
        ++seen_.inserts;
        if (failing_inserts_ > 0) {
          --failing_inserts_;
          request.returned = Return::kError;
          return;
        }
        break;
      case Op::kUpdate:
        ++seen_.updates;
        break;
      case Op::kDelete:
        records_.erase(key);
        return;
    }
    records_[key] = request.value;
  }

  Mutex mutex_;
  std::map<std::string, std::string> records_ ABSL_GUARDED_BY(mutex_);
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t failing_inserts_ = 0;
};

}  // namespace dunlin::kvbench
