#include "tests/support/linearizability/configuration.h"

#include <algorithm>

#include "common/base/random.h"

namespace dunlin::linearizability {
namespace {

// In the place of a version that nobody has yet to see.
constexpr uint32_t kUnseen = kNone - 1;

uint64_t Scramble(uint64_t a, uint64_t b) {
  uint64_t state = a * 0x9e3779b97f4a7c15 + b;
  SplitMix64(state);
  return SplitMix64(state) ^ a;
}

}  // namespace

void Digest::Toggle(uint64_t kind, uint64_t index) {
  a ^= Scramble(2 * kind + 1, index);
  b ^= Scramble(2 * kind + 2, ~index);
}

Configuration::Configuration(const Prepared& history)
    : history_(history),
      end_(static_cast<uint32_t>(history.certain.size())),
      links_(history.certain.size() + 1),
      used_(history.optional.size(), 0) {
  for (uint32_t i = 0; i <= end_; ++i) {
    links_[i] = {i == 0 ? end_ : i - 1, i == end_ ? 0 : i + 1};
  }
  for (const Version& version : history.versions) {
    observers_.of_version.push_back(version.seen_by);
    nameless_versions_ |= version.writer == kNone;
  }
  for (const OpaqueValue& value : history.values) observers_.of_value.push_back(value.seen_by);
  observers_.bound.resize(history.versions.size(), false);
}

int64_t Configuration::Window(std::vector<uint32_t>* candidates) const {
  candidates->clear();
  int64_t end = kNever;
  for (uint32_t i = links_[end_].next; i != end_; i = links_[i].next) {
    const Step& step = history_.certain[i];
    if (step.invoked > end) break;
    end = std::min(end, step.deadline);
    candidates->push_back(i);
  }
  return end;
}

const Step* Configuration::StepOf(Action action) const {
  switch (action.what) {
    case Action::What::kCertain:
      return &history_.certain[action.index];
    case Action::What::kOptional:
      return &history_.optional[action.index][used_[action.index]];
    case Action::What::kExpire:
      break;
  }
  return nullptr;
}

void Configuration::Count(const Step& step, bool certain, bool back) {
  if (!certain) return;
  const uint32_t by = back ? 1 : ~uint32_t{0};
  if (step.sees != kNone) observers_.of_version[step.sees] += by;
  if (step.source->kind == Kind::kGet && step.value != kNone) {
    observers_.of_value[step.value] += by;
  }
}

bool Configuration::Take(Action action, int64_t window_end) {
  const Step* step = StepOf(action);
  State next;
  int64_t time = time_;
  uint32_t bound = kNone;
  bool leaves = true;
  if (step == nullptr) {
    if (!state_.present) return false;
    if (!history_.records_may_vanish) {
      if (state_.expires_from > window_end) return false;
      time = std::max(time, state_.expires_from);
    }
  } else {
    time = std::max(time, step->invoked);
    if (time > window_end) return false;
    const Fit fit = Apply(history_, observers_, *step, state_, time, &next);
    if (fit == Fit::kNo) return false;
    leaves = fit == Fit::kChanges;
    const bool binds_and_leaves = leaves && step->sees != kNone && step->sees != state_.version;
    if (fit == Fit::kBinds || binds_and_leaves) bound = step->sees;
  }
  const bool certain = action.what == Action::What::kCertain;
  if (step != nullptr) Count(*step, certain, false);
  const bool unseen_left = leaves && (!MayLeave(history_, observers_, state_, next) ||
                                      (bound != kNone && observers_.of_version[bound] != 0));
  if (unseen_left) {
    if (step != nullptr) Count(*step, certain, true);
    return false;
  }
  if (certain) {
    Unlink(action.index);
  } else if (step != nullptr) {
    optional_digest_.Toggle(1 + action.index, used_[action.index]++);
  }
  if (bound != kNone) observers_.bound[bound] = true;
  trail_.push_back(action);
  bound_by_.push_back(bound);
  state_ = next;
  time_ = time;
  return true;
}

void Configuration::Unlink(uint32_t certain) {
  links_[links_[certain].previous].next = links_[certain].next;
  links_[links_[certain].next].previous = links_[certain].previous;
  certain_digest_.Toggle(0, certain);
  ++taken_;
}

bool Configuration::TakeReader(uint32_t certain) {
  const Step& step = history_.certain[certain];
  const int64_t time = std::max(time_, step.invoked);
  State next;
  if (Apply(history_, observers_, step, state_, time, &next) != Fit::kSame) return false;
  Count(step, true, false);
  Unlink(certain);
  trail_.push_back({Action::What::kCertain, certain});
  bound_by_.push_back(kNone);
  time_ = time;
  return true;
}

void Configuration::GoBack(const Mark& mark) {
  while (trail_.size() > mark.trail) {
    const Action action = trail_.back();
    if (bound_by_.back() != kNone) observers_.bound[bound_by_.back()] = false;
    trail_.pop_back();
    bound_by_.pop_back();
    if (action.what == Action::What::kOptional) {
      optional_digest_.Toggle(1 + action.index, --used_[action.index]);
    } else if (action.what == Action::What::kCertain) {
      links_[links_[action.index].previous].next = action.index;
      links_[links_[action.index].next].previous = action.index;
      certain_digest_.Toggle(0, action.index);
      --taken_;
      Count(history_.certain[action.index], true, true);
    }
  }
  state_ = mark.state;
  time_ = mark.time;
}

State Configuration::Essence(const State& state) const {
  State essence = state;
  if (!state.present) return State{};
  if (state.version == kNone) {
    if (!nameless_versions_) essence.version = kUnseen;
  } else if (observers_.of_version[state.version] == 0 &&
             !history_.versions[state.version].wanted) {
    essence.version = kUnseen;
  }
  if (state.value != kNone && observers_.of_value[state.value] == 0) essence.value = kNone;
  return essence;
}

void Configuration::Mix(const State& s, Digest* digest) {
  const uint64_t words[] = {
      uint64_t{s.present} | uint64_t{s.integer} << 1 | uint64_t{s.version} << 32, s.value,
      static_cast<uint64_t>(s.number), static_cast<uint64_t>(s.expires_from),
      static_cast<uint64_t>(s.expires_until)};
  for (uint64_t word : words) {
    digest->a = Scramble(digest->a + 1, word);
    digest->b = Scramble(digest->b + 2, word);
  }
}

Digest Configuration::Fingerprint() const {
  Digest digest = certain_digest_;
  Mix(Essence(state_), &digest);
  return digest;
}

Digest Configuration::WholeFingerprint() const {
  Digest digest = Fingerprint();
  digest.a ^= optional_digest_.a;
  digest.b ^= optional_digest_.b;
  return digest;
}

}  // namespace dunlin::linearizability
