#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/linearizability/model.h"

namespace dunlin::linearizability {

// One thing that takes place.
struct Action {
  enum class What : uint8_t { kCertain, kOptional, kExpire };
  What what = What::kExpire;
  uint32_t index = 0;  // certain: of the step; optional: of the list, whose next step it is
};

// 128 bits: two different configurations don't meet in practice.
struct Digest {
  uint64_t a = 0, b = 0;
  bool operator==(const Digest&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Digest& d) {
    return H::combine(std::move(h), d.a, d.b);
  }
  void Toggle(uint64_t kind, uint64_t index);
};

// Which operations have taken place, and what record that left. Goes back the way it came.
class Configuration {
 public:
  explicit Configuration(const Prepared& history);

  const State& state() const { return state_; }
  int64_t time() const { return time_; }  // what took place last did so then or later
  const Observers& observers() const { return observers_; }
  uint32_t taken() const { return taken_; }  // certain steps
  bool complete() const { return links_[end_].next == end_; }
  const std::vector<Action>& trail() const { return trail_; }
  // How many of each list of what may have taken place did so.
  const std::vector<uint32_t>& used() const { return used_; }

  // Certain steps that may be next, and the time by which the next must have taken place.
  int64_t Window(std::vector<uint32_t>* candidates) const;

  // False, and nothing is changed, if it can't take place here.
  bool Take(Action action, int64_t window_end);

  // A step that the record explains, and leaves as it is; false: it is none.
  bool TakeReader(uint32_t certain);

  struct Mark {
    size_t trail = 0;
    State state = {};
    int64_t time = 0;
  };
  Mark Here() const { return {trail_.size(), state_, time_}; }
  void GoBack(const Mark& mark);

  // Of the certain steps that took place and of the record, as far as it matters to what may come;
  // and of all that took place.
  Digest Fingerprint() const;
  Digest WholeFingerprint() const;
  State Essence(const State& state) const;
  static void Mix(const State& essence, Digest* digest);

 private:
  struct Link {
    uint32_t previous = 0, next = 0;
  };
  const Step* StepOf(Action action) const;
  void Unlink(uint32_t certain);
  void Count(const Step& step, bool certain, bool back);

  const Prepared& history_;
  const uint32_t end_;
  bool nameless_versions_ = false;
  std::vector<Link> links_;  // certain steps that have not taken place; the last one is the anchor
  std::vector<uint32_t> used_;
  Observers observers_;
  State state_;
  int64_t time_ = std::numeric_limits<int64_t>::min();
  uint32_t taken_ = 0;
  Digest certain_digest_, optional_digest_;
  std::vector<Action> trail_;
  std::vector<uint32_t> bound_by_;  // beside the trail: the version that the action bound, or kNone
};

}  // namespace dunlin::linearizability
