#include <cmath>
#include <cstdio>
#include <list>
#include <set>
#include <tuple>
#include <unordered_map>

#include "bench/upkeep/upkeep.h"
#include "common/base/check.h"
#include "common/base/random.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kKeys = 2'000'000;
constexpr uint64_t kRequests = 16'000'000;
constexpr uint64_t kScanEvery = 4'000'000;
constexpr uint64_t kScanKeys = 500'000;
constexpr double kSkew = 0.99;
constexpr uint32_t kValueBytes = 64;

// Draws of [0, n) with probability proportional to 1 / (rank + 1)^skew, by Walker's alias method.
class Zipf {
 public:
  Zipf(uint64_t n, double skew) : keep_(n), alias_(n) {
    std::vector<double> weight(n);
    double sum = 0;
    for (uint64_t i = 0; i < n; ++i) sum += weight[i] = std::pow(static_cast<double>(i + 1), -skew);
    std::vector<uint32_t> small;
    std::vector<uint32_t> large;
    for (uint64_t i = 0; i < n; ++i) {
      weight[i] *= static_cast<double>(n) / sum;
      (weight[i] < 1 ? small : large).push_back(static_cast<uint32_t>(i));
    }
    while (!small.empty() && !large.empty()) {
      const uint32_t s = small.back();
      const uint32_t l = large.back();
      small.pop_back();
      keep_[s] = weight[s];
      alias_[s] = l;
      weight[l] -= 1 - weight[s];
      if (weight[l] >= 1) continue;
      large.pop_back();
      small.push_back(l);
    }
    for (uint32_t i : small) keep_[i] = 1;
    for (uint32_t i : large) keep_[i] = 1;
  }
  uint64_t operator()(Random& random) const {
    const uint64_t i = random.Below(keep_.size());
    return random.Unit() < keep_[i] ? i : alias_[i];
  }

 private:
  std::vector<double> keep_;
  std::vector<uint32_t> alias_;
};

// The same sequence each time; keys of the scans are met once.
template <typename Visit>
void Replay(bool scans, Visit&& visit) {
  const Zipf zipf(kKeys, kSkew);
  Random random(3);
  uint64_t cold = kKeys;
  for (uint64_t i = 0; i < kRequests; ++i) {
    if (scans && i % kScanEvery == kScanEvery / 2) {
      for (uint64_t k = 0; k < kScanKeys; ++k) visit(cold++, false);
    }
    // Ranks are scattered over the keys, which changes nothing but the keys' order.
    visit(zipf(random) * 1'315'423'911 % kKeys, i >= kRequests / 2);
  }
}

struct Hits {
  uint64_t hits = 0;
  uint64_t requests = 0;
  void Count(bool hit, bool counts) {
    requests += counts;
    hits += counts && hit;
  }
  double ratio() const { return static_cast<double>(hits) / static_cast<double>(requests); }
};

class ExactLru {
 public:
  explicit ExactLru(uint64_t capacity) : capacity_(capacity) {}
  bool Access(uint64_t key) {
    auto found = where_.find(key);
    if (found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    if (where_.size() == capacity_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(key);
    where_[key] = order_.begin();
    return false;
  }

 private:
  const uint64_t capacity_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

// Of keys with equal counts the one used least lately goes; counts are those since a key came in.
class ExactLfu {
 public:
  explicit ExactLfu(uint64_t capacity) : capacity_(capacity) {}
  bool Access(uint64_t key) {
    ++now_;
    auto found = uses_.find(key);
    if (found != uses_.end()) {
      order_.erase({found->second.count, found->second.last, key});
      found->second = {found->second.count + 1, now_};
      order_.insert({found->second.count, now_, key});
      return true;
    }
    if (uses_.size() == capacity_) {
      uses_.erase(std::get<2>(*order_.begin()));
      order_.erase(order_.begin());
    }
    uses_[key] = {1, now_};
    order_.insert({1, now_, key});
    return false;
  }

 private:
  struct Uses {
    uint64_t count = 0;
    uint64_t last = 0;
  };
  const uint64_t capacity_;
  uint64_t now_ = 0;
  std::unordered_map<uint64_t, Uses> uses_;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> order_;
};

template <typename Cache>
double HitRatio(Cache cache, bool scans) {
  Hits hits;
  Replay(scans, [&](uint64_t key, bool counts) { hits.Count(cache.Access(key), counts); });
  return hits.ratio();
}

struct Measured {
  double hit_ratio = 0;
  uint64_t items = 0;  // about, while it was measured
};

Measured HitRatioOfDunlin(bool scans) {
  auto server = StartServer("40MiB", {"--mode", "cache", "--records", "200000", "--grace", "50ms",
                                      "--huge-pages", "auto", "--max-sessions", "64"});
  auto client = ConnectTo(*server);
  auto session = OpenOn(*client, 16u << 20);
  const std::string value(kValueBytes, 'v');
  Hits hits;
  uint64_t n = 0;
  uint64_t counted = 0;
  Measured measured;
  Replay(scans, [&](uint64_t k, bool counts) {
    char key[kKeyBytes];
    char buffer[kValueBytes];
    WriteKey(k, key);
    const GetResult got =
        session->GetInto(AsBytes({key, kKeyBytes}), std::as_writable_bytes(std::span(buffer)), {});
    hits.Count(got.ok(), counts);
    if (!got.ok()) {
      DUNLIN_CHECK(got.outcome == Outcome::kNotFound);
      DUNLIN_CHECK(session->PutBytes(AsBytes({key, kKeyBytes}), AsBytes(value), {}).ok());
    }
    if (counts && ++n % 500'000 == 0) {
      auto status = client->Status(true);
      DUNLIN_CHECK_OK(status);
      measured.items += status->items;
      ++counted;
    }
  });
  measured.hit_ratio = hits.ratio();
  measured.items /= counted;
  return measured;
}

void Compare(const char* name, bool scans) {
  const Measured dunlin = HitRatioOfDunlin(scans);
  const double lru = HitRatio(ExactLru(dunlin.items), scans);
  const double lfu = HitRatio(ExactLfu(dunlin.items), scans);
  char details[160];
  std::snprintf(details, sizeof details, "dunlin=%.4f lru=%.4f lfu=%.4f items=%lu of %lu",
                dunlin.hit_ratio, lru, lfu, static_cast<unsigned long>(dunlin.items),
                static_cast<unsigned long>(kKeys));
  PrintRatio(std::string("eviction_misses_to_lru_") + name, (1 - dunlin.hit_ratio) / (1 - lru),
             1.02, details);
}

}  // namespace

void MeasureEviction() {
  Compare("zipfian", false);
  Compare("scan_polluted", true);
}

}  // namespace dunlin::bench
