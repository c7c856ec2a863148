#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tests/support/linearizability/prepared.h"

namespace dunlin::linearizability {
namespace {

bool Writes(Kind kind) { return kind != Kind::kGet && kind != Kind::kRemove; }

bool WritesItsValue(Kind kind) {
  return Writes(kind) && kind != Kind::kAdd && kind != Kind::kTouch;
}

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kNever : sum;
}

class Preparation {
 public:
  Preparation(std::span<const Operation> operations, const Options& options)
      : operations_(operations), options_(options) {}

  Prepared Run() {
    out_.records_may_vanish = options_.records_may_vanish;
    for (const Operation& operation : operations_) Take(operation);
    CountObservers();
    Promote();
    std::sort(out_.certain.begin(), out_.certain.end(), [](const Step& a, const Step& b) {
      return std::tie(a.invoked, a.deadline) < std::tie(b.invoked, b.deadline);
    });
    Tighten();
    Classify();
    return std::move(out_);
  }

 private:
  uint32_t VersionOf(uint64_t version) {
    if (version == 0) return kNone;
    auto [at, added] = versions_.try_emplace(version, static_cast<uint32_t>(out_.versions.size()));
    if (added) out_.versions.emplace_back();
    return at->second;
  }
  uint32_t ValueOf(const Value& value) {
    if (value.type != Value::Type::kOpaque) return kNone;
    auto [at, added] = values_.try_emplace(value.number, static_cast<uint32_t>(out_.values.size()));
    if (added) out_.values.emplace_back();
    return at->second;
  }

  void Take(const Operation& o) {
    if (o.answer == Answer::kNoEffect) return;
    const bool unknown = o.answer == Answer::kUnknown;
    if (unknown && o.kind == Kind::kGet) return;
    Step step{.source = &o, .invoked = o.invoked};
    if (!unknown) step.deadline = o.responded;
    const bool read = o.kind == Kind::kGet && o.answer == Answer::kOk;
    if (WritesItsValue(o.kind) || read) step.value = ValueOf(o.value);
    if (Writes(o.kind) && o.ttl.has_value()) {
      step.expires_from = Sum(o.invoked, *o.ttl - options_.expiry_tolerance);
      if (!unknown) step.expires_until = Sum(o.responded, *o.ttl + options_.expiry_tolerance);
    }
    if (Writes(o.kind) && o.answer == Answer::kOk) step.writes = VersionOf(o.version);
    if (o.answer == Answer::kVersionMismatch || read) {
      step.sees = VersionOf(o.version);
    } else if (o.kind == Kind::kCompareAndSet) {
      const bool succeeds = unknown || o.answer == Answer::kOk;
      if (succeeds) step.sees = VersionOf(o.expected);
    }
    if (WritesItsValue(o.kind) && step.value != kNone) ++out_.values[step.value].writers;
    (unknown ? unknown_ : out_.certain).push_back(step);
  }

  void CountObservers() {
    for (const Step& step : out_.certain) {
      if (step.sees != kNone) ++out_.versions[step.sees].seen_by;
      if (step.source->kind == Kind::kGet && step.value != kNone) ++out_.values[step.value].seen_by;
    }
    for (const Step& step : unknown_) {
      if (step.sees != kNone) out_.versions[step.sees].wanted = true;
    }
  }

  // A value that only one operation writes, and somebody saw, shows that it took place.
  void Promote() {
    std::vector<Step> left;
    for (const Step& step : unknown_) {
      const bool shown = WritesItsValue(step.source->kind) && step.value != kNone &&
                         out_.values[step.value].writers == 1 &&
                         out_.values[step.value].seen_by != 0;
      if (!shown) {
        left.push_back(step);
        continue;
      }
      out_.certain.push_back(step);
      if (step.sees != kNone) ++out_.versions[step.sees].seen_by;
    }
    unknown_ = std::move(left);
  }

  // Who wrote what was seen did so before the response of who saw it.
  void Tighten() {
    std::vector<uint32_t> writer_of_value(out_.values.size(), kNone);
    for (uint32_t i = 0; i < out_.certain.size(); ++i) {
      const Step& step = out_.certain[i];
      if (step.writes != kNone) {
        Version& version = out_.versions[step.writes];
        if (version.writer != kNone) {
          Contradict("two writes returned one version", step, out_.certain[version.writer]);
        }
        version.writer = i;
      }
      if (WritesItsValue(step.source->kind) && step.value != kNone) writer_of_value[step.value] = i;
    }
    for (const Step& step : out_.certain) {
      if (step.sees != kNone) Before(out_.versions[step.sees].writer, step);
      if (step.source->kind != Kind::kGet || step.value == kNone) continue;
      const OpaqueValue& value = out_.values[step.value];
      if (value.writers == 0 && out_.contradiction.empty()) {
        out_.contradiction = "a value that nobody wrote was read:\n  " + Describe(*step.source);
      }
      if (value.writers == 1) Before(writer_of_value[step.value], step);
    }
  }

  void Before(uint32_t writer, const Step& observer) {
    if (writer == kNone) return;
    Step& step = out_.certain[writer];
    step.deadline = std::min(step.deadline, observer.deadline);
    if (step.deadline < step.invoked) {
      Contradict("what was seen had not been written yet", observer, step);
    }
  }

  void Contradict(const std::string& what, const Step& a, const Step& b) {
    if (!out_.contradiction.empty()) return;
    out_.contradiction = what + ":\n  " + Describe(*a.source) + "\n  " + Describe(*b.source);
  }

  // Contents that nobody saw differ in nothing that matters.
  void Classify() {
    using Same =
        std::tuple<Kind, uint32_t, int64_t, int64_t, int64_t, bool, int64_t, bool, int64_t>;
    std::map<Same, std::vector<Step>> classes;
    for (const Step& step : unknown_) {
      const Operation& o = *step.source;
      const bool integer = o.value.type == Value::Type::kInteger;
      const bool seen = step.value != kNone && out_.values[step.value].seen_by != 0;
      const int64_t contents =
          integer ? o.value.number : (seen ? static_cast<int64_t>(step.value) : -1);
      classes[{o.kind, step.sees, o.ttl.value_or(-1), o.delta, contents, integer,
               o.initial.value_or(0), o.initial.has_value(), 0}]
          .push_back(step);
    }
    for (auto& [same, steps] : classes) {
      std::sort(steps.begin(), steps.end(),
                [](const Step& a, const Step& b) { return a.invoked < b.invoked; });
      out_.optional.push_back(std::move(steps));
    }
  }

  std::span<const Operation> operations_;
  const Options& options_;
  Prepared out_;
  std::vector<Step> unknown_;
  std::unordered_map<uint64_t, uint32_t> versions_;
  std::unordered_map<int64_t, uint32_t> values_;
};

}  // namespace

Prepared Prepare(std::span<const Operation> operations, const Options& options) {
  return Preparation(operations, options).Run();
}

}  // namespace dunlin::linearizability
