#include "tests/unit/linearizability/random_history.h"

#include <algorithm>

namespace dunlin::linearizability {
namespace {

class Store {
 public:
  explicit Store(Random& random) : random_(random) {}

  // Fills in the answer that a correct store gives at `now`.
  void Serve(int64_t now, Operation& o) {
    if (present_ && expiry_ <= now) present_ = false;
    switch (o.kind) {
      case Kind::kGet:
        return Get(now, o);
      case Kind::kPut:
        return Write(now, o);
      case Kind::kPutIfAbsent:
        if (!present_) return Write(now, o);
        o.answer = Answer::kExists;
        return;
      case Kind::kReplace:
        if (present_) return Write(now, o);
        o.answer = Answer::kNotFound;
        return;
      case Kind::kCompareAndSet:
        return CompareAndSet(now, o);
      case Kind::kAdd:
        return Add(o);
      case Kind::kRemove:
        o.answer = present_ ? Answer::kOk : Answer::kNotFound;
        present_ = false;
        return;
      case Kind::kTouch:
        if (!present_) {
          o.answer = Answer::kNotFound;
          return;
        }
        o.value = value_;
        Write(now, o);
        o.value = {};
        return;
    }
  }

 private:
  void Get(int64_t now, Operation& o) {
    o.answer = present_ ? Answer::kOk : Answer::kNotFound;
    if (!present_) return;
    if (!random_.OneIn(8)) o.value = value_;
    o.version = version_;
    o.ttl_left_seen = random_.OneIn(2);
    if (o.ttl_left_seen && expiry_ != kNever) o.ttl_left = expiry_ - now;
  }
  void Write(int64_t now, Operation& o) {
    present_ = true;
    value_ = o.value;
    version_ = ++versions_;
    expiry_ = o.ttl.has_value() ? now + *o.ttl : kNever;
    o.answer = Answer::kOk;
    o.version = version_;
  }
  void CompareAndSet(int64_t now, Operation& o) {
    // As if some client had learned it before.
    o.expected = random_.OneIn(3) || version_ == 0 ? 1 + random_.Below(versions_ + 1) : version_;
    if (!present_) {
      o.answer = Answer::kNotFound;
    } else if (o.expected == version_) {
      Write(now, o);
    } else {
      o.answer = Answer::kVersionMismatch;
      if (!random_.OneIn(4)) o.version = version_;
    }
  }
  void Add(Operation& o) {
    int64_t base = o.initial.value_or(0);
    if (!present_ && !o.initial.has_value()) {
      o.answer = Answer::kNotFound;
      return;
    }
    if (present_) base = value_.number;
    if (present_ && value_.type != Value::Type::kInteger) {
      o.answer = Answer::kNotInteger;
      return;
    }
    if (!present_) expiry_ = kNever;
    present_ = true;
    value_ = Value::Integer(base + o.delta);
    version_ = ++versions_;
    o.sum = value_.number;
    o.version = version_;
    o.answer = Answer::kOk;
  }

  Random& random_;
  bool present_ = false;
  Value value_;
  uint64_t version_ = 0, versions_ = 0;
  int64_t expiry_ = kNever;
};

Operation RandomOperation(const HistoryPlan& plan, Random& random, uint64_t* values) {
  Operation o;
  const uint64_t dice = random.Below(100);
  o.kind = dice < 35   ? Kind::kGet
           : dice < 60 ? Kind::kPut
           : dice < 66 ? Kind::kPutIfAbsent
           : dice < 71 ? Kind::kReplace
           : dice < 80 ? Kind::kCompareAndSet
           : dice < 90 ? (plan.counters ? Kind::kAdd : Kind::kPut)
           : dice < 95 ? (plan.removals ? Kind::kRemove : Kind::kGet)
                       : Kind::kTouch;
  const bool own_value = o.kind != Kind::kGet && o.kind != Kind::kAdd && o.kind != Kind::kRemove &&
                         o.kind != Kind::kTouch;
  if (own_value) {
    o.value = Value::Opaque(plan.values == 0 ? ++*values : 1 + random.Below(plan.values));
    if (plan.counters && random.OneIn(2)) {
      o.value = Value::Integer(static_cast<int64_t>(random.Below(3)));
    }
  }
  if (o.kind == Kind::kAdd) {
    o.delta = static_cast<int64_t>(1 + random.Below(2));
    if (random.OneIn(2)) o.initial = 0;
  }
  if ((own_value || o.kind == Kind::kTouch) && plan.longest_ttl != 0 && random.OneIn(2)) {
    o.ttl = static_cast<int64_t>(1 + random.Below(static_cast<uint64_t>(plan.longest_ttl)));
  }
  return o;
}

struct Happening {
  int64_t at = 0;
  Operation operation;
};

}  // namespace

std::vector<Operation> RandomHistory(const HistoryPlan& plan, Random& random) {
  std::vector<int64_t> free_at(static_cast<size_t>(plan.clients), 0);
  std::vector<Happening> happenings;
  uint64_t values = 0;
  const auto one_of_1000 = [&](int n) { return random.Below(1000) < static_cast<uint64_t>(n); };
  for (int i = 0; i < plan.operations; ++i) {
    const auto client =
        static_cast<size_t>(std::min_element(free_at.begin(), free_at.end()) - free_at.begin());
    Happening h;
    h.operation = RandomOperation(plan, random, &values);
    h.operation.client = static_cast<uint32_t>(client);
    const uint64_t longest = one_of_1000(plan.long_calls) ? 2000 : 20;
    h.operation.invoked = free_at[client] + static_cast<int64_t>(random.Below(8));
    h.at = h.operation.invoked + static_cast<int64_t>(random.Below(longest));
    h.operation.responded = h.at + static_cast<int64_t>(random.Below(longest));
    free_at[client] = h.operation.responded + 1;
    happenings.push_back(h);
  }
  std::stable_sort(happenings.begin(), happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.at < b.at; });
  Store store(random);
  std::vector<Operation> history;
  for (Happening& h : happenings) {
    const bool died = one_of_1000(plan.deaths);
    const bool said_nothing = died || one_of_1000(plan.unknown);
    const Operation asked = h.operation;
    if (!said_nothing || !random.OneIn(2)) store.Serve(h.at, h.operation);
    if (said_nothing) {
      const uint64_t expected = h.operation.expected;
      h.operation = asked;
      h.operation.expected = expected;
      h.operation.answer = Answer::kUnknown;
      if (died) h.operation.responded = kNever;
    }
    history.push_back(h.operation);
  }
  std::shuffle(history.begin(), history.end(), random);
  return history;
}

}  // namespace dunlin::linearizability
