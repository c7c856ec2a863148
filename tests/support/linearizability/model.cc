#include "tests/support/linearizability/model.h"

namespace dunlin::linearizability {
namespace {

enum class Seen : uint8_t { kNo, kYes, kIfBound };

class Application {
 public:
  Application(const Prepared& history, const Observers& observers, const Step& step,
              const State& state, int64_t time, State* next)
      : history_(history),
        observers_(observers),
        step_(step),
        o_(*step.source),
        state_(state),
        next_(next),
        found_(state.present && time <= state.expires_until) {}

  Fit Run() {
    *next_ = state_;
    switch (o_.kind) {
      case Kind::kGet:
        return o_.answer == Answer::kNotFound ? Absent() : Get();
      case Kind::kPut:
        return Write();
      case Kind::kPutIfAbsent:
        if (o_.answer == Answer::kExists) return found_ ? Fit::kSame : Fit::kNo;
        return state_.present ? Fit::kNo : Write();
      case Kind::kReplace:
        if (o_.answer == Answer::kNotFound) return Absent();
        return found_ ? Write() : Fit::kNo;
      case Kind::kCompareAndSet:
        return CompareAndSet();
      case Kind::kAdd:
        return Add();
      case Kind::kRemove:
        if (o_.answer == Answer::kNotFound) return Absent();
        if (!found_) return Fit::kNo;
        *next_ = State{};
        return Fit::kChanges;
      case Kind::kTouch:
        if (o_.answer == Answer::kNotFound) return Absent();
        return found_ ? Touch() : Fit::kNo;
    }
    return Fit::kNo;
  }

 private:
  Fit Absent() const { return state_.present ? Fit::kNo : Fit::kSame; }

  Seen SeesVersion() const {
    if (step_.sees == kNone || step_.sees == state_.version) return Seen::kYes;
    const Version& version = history_.versions[step_.sees];
    const bool nameless = state_.version == kNone && version.writer == kNone;
    return nameless && !observers_.bound[step_.sees] ? Seen::kIfBound : Seen::kNo;
  }

  Fit Observe(Seen seen) {
    if (seen == Seen::kNo) return Fit::kNo;
    if (seen == Seen::kYes) return Fit::kSame;
    next_->version = step_.sees;
    return Fit::kBinds;
  }

  Fit Get() {
    if (!found_) return Fit::kNo;
    if (o_.value.type == Value::Type::kInteger &&
        !(state_.integer && state_.number == o_.value.number)) {
      return Fit::kNo;
    }
    if (o_.value.type == Value::Type::kOpaque && (state_.integer || state_.value != step_.value)) {
      return Fit::kNo;
    }
    if (o_.ttl_left_seen && !ExpiryFits()) return Fit::kNo;
    return Observe(SeesVersion());
  }

  // The tolerance is in the state's times.
  bool ExpiryFits() const {
    if (!o_.ttl_left.has_value()) return state_.expires_from == kNever;
    if (state_.expires_from == kNever) return false;
    const bool too_early =
        o_.responded != kNever && o_.responded + *o_.ttl_left < state_.expires_from;
    const bool too_late =
        state_.expires_until != kNever && o_.invoked + *o_.ttl_left > state_.expires_until;
    return !too_early && !too_late;
  }

  Fit Write() {
    *next_ = {.present = true,
              .integer = o_.value.type == Value::Type::kInteger,
              .version = step_.writes,
              .value = step_.value,
              .number = o_.value.type == Value::Type::kInteger ? o_.value.number : 0,
              .expires_from = step_.expires_from,
              .expires_until = step_.expires_until};
    return Fit::kChanges;
  }

  Fit CompareAndSet() {
    if (o_.answer == Answer::kNotFound) return Absent();
    if (!found_) return Fit::kNo;
    if (o_.answer == Answer::kVersionMismatch) {
      return o_.version == o_.expected ? Fit::kNo : Observe(SeesVersion());
    }
    // Where only a binding would do, binding and writing in one step comes to the same.
    return SeesVersion() == Seen::kNo ? Fit::kNo : Write();
  }

  Fit Add() {
    if (o_.answer == Answer::kNotFound) return Absent();
    if (!state_.present) return o_.initial.has_value() ? AddTo(*o_.initial) : Fit::kNo;
    if (!found_) return Fit::kNo;
    if (o_.answer == Answer::kNotInteger) return state_.integer ? Fit::kNo : Fit::kSame;
    return state_.integer ? AddTo(state_.number) : Fit::kNo;
  }

  Fit AddTo(int64_t number) {
    int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(number, o_.delta, &sum);
    if (o_.answer == Answer::kOverflow) return overflow ? Fit::kSame : Fit::kNo;
    if (o_.answer == Answer::kNotInteger || overflow) return Fit::kNo;
    if (o_.answer == Answer::kOk && sum != o_.sum) return Fit::kNo;
    next_->present = true;
    next_->integer = true;
    next_->number = sum;
    next_->value = kNone;
    next_->version = step_.writes;
    return Fit::kChanges;
  }

  Fit Touch() {
    next_->version = step_.writes;
    next_->expires_from = step_.expires_from;
    next_->expires_until = step_.expires_until;
    return Fit::kChanges;
  }

  const Prepared& history_;
  const Observers& observers_;
  const Step& step_;
  const Operation& o_;
  const State& state_;
  State* next_;
  const bool found_;
};

}  // namespace

Fit Apply(const Prepared& history, const Observers& observers, const Step& step, const State& state,
          int64_t time, State* next) {
  return Application(history, observers, step, state, time, next).Run();
}

bool MayLeave(const Prepared& history, const Observers& observers, const State& state,
              const State& next) {
  if (!state.present) return true;
  if (state.version != kNone && observers.of_version[state.version] != 0) return false;
  // A value that two wrote may come back.
  return state.value == kNone || state.value == next.value ||
         history.values[state.value].writers != 1 || observers.of_value[state.value] == 0;
}

}  // namespace dunlin::linearizability
