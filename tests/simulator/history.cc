#include "tests/simulator/history.h"

#include <algorithm>
#include <map>

#include "tests/support/answer_of.h"
#include "tests/support/linearizability/checker.h"

namespace dunlin::simulator {
namespace {

using linearizability::Options;
using linearizability::Report;
using linearizability::Verdict;

constexpr uint64_t kMaxConfigurations = 400'000;

class Incarnations {
 public:
  Incarnations(const std::vector<int64_t>& crashes, const std::vector<uint64_t>& first_versions)
      : crashes_(crashes), first_versions_(first_versions) {}

  size_t At(int64_t time) const {
    return static_cast<size_t>(std::lower_bound(crashes_.begin(), crashes_.end(), time) -
                               crashes_.begin());
  }
  size_t Of(uint64_t version) const {
    const auto above = std::upper_bound(first_versions_.begin(), first_versions_.end(), version);
    return static_cast<size_t>(std::max<ptrdiff_t>(0, above - first_versions_.begin() - 1));
  }

 private:
  const std::vector<int64_t>& crashes_;
  const std::vector<uint64_t>& first_versions_;
};

using Key = std::pair<uint32_t, size_t>;  // and the incarnation

// An operation that was under way when the server crashed took place before or after, as the
// version in its answer says; without one it may have had its effect on either side.
void Place(const History::Call& call, const Incarnations& incarnations,
           std::map<Key, std::vector<Operation>>* histories) {
  Operation operation = call.operation;
  const size_t first = incarnations.At(operation.invoked);
  const bool open = operation.answer == Answer::kUnknown;
  // What was never answered belongs to a client that can't have gone on with another server.
  const size_t last =
      operation.responded == linearizability::kNever ? first : incarnations.At(operation.responded);
  if (open) operation.responded = linearizability::kNever;
  if (first == last) {
    (*histories)[{call.key, first}].push_back(operation);
    return;
  }
  if (!open && operation.version != 0) {
    (*histories)[{call.key, incarnations.Of(operation.version)}].push_back(operation);
    return;
  }
  if (operation.kind == Kind::kGet || operation.answer == Answer::kNoEffect) return;
  operation.answer = Answer::kUnknown;
  operation.responded = linearizability::kNever;
  for (size_t i = first; i <= last; ++i) (*histories)[{call.key, i}].push_back(operation);
}

// A cache may let go of any record at any time: as often as somebody found none there.
void AddEvictions(std::vector<Operation>* operations) {
  size_t absences = 0;
  for (const Operation& o : *operations) {
    absences += o.answer == Answer::kNotFound || o.answer == Answer::kUnknown ||
                (o.kind == Kind::kPutIfAbsent && o.answer == Answer::kOk) || o.initial.has_value();
  }
  Operation eviction;
  eviction.kind = Kind::kRemove;
  eviction.answer = Answer::kUnknown;
  eviction.invoked = 0;
  operations->insert(operations->end(), absences, eviction);
}

}  // namespace

Answer AnswerOf(Outcome outcome) {
  // The key was found, with its size.
  if (outcome == Outcome::kBufferTooSmall) return Answer::kOk;
  return testing::AnswerOf(outcome).value_or(Answer::kNoEffect);
}

HistoryReport CheckHistory(const History& history, const std::vector<int64_t>& crashes,
                           const std::vector<uint64_t>& first_versions, const Faults& faults) {
  HistoryReport report;
  report.violations = history.faults();
  const Incarnations incarnations(crashes, first_versions);
  std::map<Key, std::vector<Operation>> histories;
  for (const History::Call& call : history.calls()) Place(call, incarnations, &histories);
  Options options;
  options.expiry_tolerance = faults.ExpirySlack();
  options.max_configurations = kMaxConfigurations;
  for (auto& [key, operations] : histories) {
    if (faults.cache) AddEvictions(&operations);
    report.checked += operations.size();
    const Report checked = linearizability::Check(operations, options);
    if (checked.verdict == Verdict::kUndecided) ++report.undecided;
    if (checked.verdict != Verdict::kViolation) continue;
    report.violations.push_back("key " + std::to_string(key.first) + " in incarnation " +
                                std::to_string(key.second) + ": " + checked.explanation);
  }
  return report;
}

}  // namespace dunlin::simulator
