#include "tests/unit/linearizability/brute_force.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace dunlin::linearizability {
namespace {

struct Record {
  int writer = -1;  // operation; -1: no record
  uint64_t version = 0;
  Value value;
  int64_t from = kNever, until = kNever;
};

class Orders {
 public:
  Orders(std::span<const Operation> operations, int64_t tolerance, bool vanish)
      : operations_(operations),
        tolerance_(tolerance),
        vanish_(vanish),
        done_(operations.size(), false) {
    for (const Operation& o : operations) {
      const bool writes = o.kind != Kind::kGet && o.kind != Kind::kRemove;
      if (writes && o.answer == Answer::kOk) twice_ |= !known_.insert(o.version).second;
    }
  }

  bool a_version_twice() const { return twice_; }

  bool Explain(const Record& record, int64_t time) {
    bool all = true;
    int64_t end = kNever;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (done_[i] || !Certain(operations_[i])) continue;
      all = false;
      end = std::min(end, operations_[i].responded);
    }
    if (all) return true;
    const int64_t from = vanish_ ? time : record.from;
    if (record.writer >= 0 && from <= end && Explain(Record{}, std::max(time, from))) return true;
    for (size_t i = 0; i < operations_.size(); ++i) {
      const Operation& o = operations_[i];
      if (done_[i] || o.answer == Answer::kNoEffect || o.invoked > end) continue;
      if (o.kind == Kind::kGet && o.answer == Answer::kUnknown) continue;
      done_[i] = true;
      const bool explained = Try(static_cast<int>(i), record, std::max(time, o.invoked));
      done_[i] = false;
      if (explained) return true;
    }
    return false;
  }

 private:
  static bool Certain(const Operation& o) {
    return o.answer != Answer::kUnknown && o.answer != Answer::kNoEffect;
  }

  Record Written(int i, const Value& value) const {
    const Operation& o = operations_[static_cast<size_t>(i)];
    Record record{.writer = i, .version = 0, .value = value};
    const bool answered = o.answer == Answer::kOk;
    if (answered) record.version = o.version;
    if (o.ttl.has_value()) {
      record.from = o.invoked + *o.ttl - tolerance_;
      record.until = answered ? o.responded + *o.ttl + tolerance_ : kNever;
    }
    return record;
  }

  // Goes on with the record bearing that version, if it can.
  bool WithVersion(Record record, uint64_t version, const Record* next, int64_t time) {
    if (version == 0 || record.version == version) return Explain(next ? *next : record, time);
    const bool free = record.version == 0 && !known_.contains(version) && !used_.contains(version);
    if (!free) return false;
    used_.insert(version);
    record.version = version;
    const bool explained = Explain(next ? *next : record, time);
    used_.erase(version);
    return explained;
  }

  bool Try(int i, const Record& record, int64_t time) {
    const Operation& o = operations_[static_cast<size_t>(i)];
    const bool there = record.writer >= 0;
    const bool found = there && time <= record.until;
    const bool ok = o.answer == Answer::kOk || o.answer == Answer::kUnknown;
    if (o.answer == Answer::kNotFound) return !there && Explain(record, time);
    switch (o.kind) {
      case Kind::kGet:
        return found && Matches(o, record) && WithVersion(record, o.version, nullptr, time);
      case Kind::kPut:
        return Explain(Written(i, o.value), time);
      case Kind::kPutIfAbsent:
        if (o.answer == Answer::kExists) return found && Explain(record, time);
        return !there && Explain(Written(i, o.value), time);
      case Kind::kReplace:
        return found && Explain(Written(i, o.value), time);
      case Kind::kRemove:
        return found && Explain(Record{}, time);
      case Kind::kCompareAndSet: {
        if (!found) return false;
        if (!ok) return o.version != o.expected && WithVersion(record, o.version, nullptr, time);
        const Record next = Written(i, o.value);
        return WithVersion(record, o.expected, &next, time);
      }
      case Kind::kTouch: {
        const Record next = Written(i, record.value);
        return found && Explain(next, time);
      }
      case Kind::kAdd:
        return Add(i, record, found, time);
    }
    return false;
  }

  bool Add(int i, const Record& record, bool found, int64_t time) {
    const Operation& o = operations_[static_cast<size_t>(i)];
    const bool there = record.writer >= 0;
    if (there && !found) return false;
    if (!there && !o.initial.has_value()) return false;
    const bool integer = !there || record.value.type == Value::Type::kInteger;
    if (o.answer == Answer::kNotInteger) return !integer && Explain(record, time);
    if (!integer) return false;
    int64_t sum = 0;
    const bool overflow =
        __builtin_add_overflow(there ? record.value.number : *o.initial, o.delta, &sum);
    if (o.answer == Answer::kOverflow) return overflow && Explain(record, time);
    if (overflow || (o.answer == Answer::kOk && sum != o.sum)) return false;
    Record next = Written(i, Value::Integer(sum));
    next.from = record.from;
    next.until = record.until;
    return Explain(next, time);
  }

  static bool Matches(const Operation& o, const Record& record) {
    if (o.value.type != Value::Type::kNotSeen && o.value != record.value) return false;
    if (!o.ttl_left_seen) return true;
    if (!o.ttl_left.has_value()) return record.from == kNever;
    if (record.from == kNever || o.responded + *o.ttl_left < record.from) return false;
    return record.until == kNever || o.invoked + *o.ttl_left <= record.until;
  }

  std::span<const Operation> operations_;
  const int64_t tolerance_;
  const bool vanish_;
  std::vector<bool> done_;
  std::set<uint64_t> known_, used_;
  bool twice_ = false;
};

}  // namespace

bool BruteForce(std::span<const Operation> operations, int64_t expiry_tolerance,
                bool records_may_vanish) {
  Orders orders(operations, expiry_tolerance, records_may_vanish);
  return !orders.a_version_twice() && orders.Explain(Record{}, INT64_MIN);
}

}  // namespace dunlin::linearizability
