#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "common/base/random.h"

namespace dunlin::simulator {

inline constexpr int64_t kMicrosecond = 1'000;
inline constexpr int64_t kMillisecond = 1'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kNever = INT64_MAX;

// What happened, for the digest and the trace.
enum class Happening : uint8_t {
  kPost,
  kVerb,
  kComplete,
  kCall,
  kAnswer,
  kConnect,
  kCut,
  kFenced,
  kKill,
  kStop,
  kJump,
  kServerStart,
  kServerCrash,
  kServerStall,
  kLossReport,
};

// Simulated time and what is going to happen in it. One thread; the same seed gives the same run.
class World {
 public:
  explicit World(uint64_t seed, bool trace) : random_(seed), trace_(trace) {}

  int64_t now() const { return now_; }
  Random& random() { return random_; }
  // At a time that isn't past; of two at the same time, the first one told comes first.
  void At(int64_t time, std::function<void()> act);
  void After(int64_t nanos, std::function<void()> act) { At(now_ + nanos, std::move(act)); }
  // The next event. False if there is none.
  bool Step();

  void Note(Happening what, uint64_t a, uint64_t b = 0, uint64_t c = 0);
  uint64_t digest() const { return digest_; }
  uint64_t events() const { return events_; }

 private:
  struct Event {
    int64_t time;
    uint64_t number;
    std::function<void()> act;
    // std::push_heap keeps the largest in front.
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  int64_t now_ = kSecond;
  uint64_t next_number_ = 0;
  uint64_t events_ = 0;
  std::vector<Event> queue_;
  Random random_;
  const bool trace_;
  uint64_t digest_ = 0xCBF29CE484222325;
};

}  // namespace dunlin::simulator
