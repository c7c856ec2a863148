#include "tests/support/linearizability/moves.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace dunlin::linearizability {
namespace {

using What = Action::What;

// Unknown outcomes in a row that one answer reveals. So many clients must have died between two
// answers on one key.
constexpr size_t kLongestChain = 8;
constexpr size_t kMostChains = 20'000;

Fit FitOf(const Prepared& history, const Configuration& at, const Step& step, const State& state,
          State* next) {
  return Apply(history, at.observers(), step, state, std::max(at.time(), step.invoked), next);
}

// Nobody saw what it wrote: it may have been replaced at once.
bool Unseen(const Prepared& history, const Step& step) {
  const Kind kind = step.source->kind;
  if (kind != Kind::kPut && kind != Kind::kReplace && kind != Kind::kTouch) return false;
  if (step.writes == kNone) return false;
  const Version& version = history.versions[step.writes];
  if (version.seen_by != 0 || version.wanted) return false;
  return kind == Kind::kTouch || step.value == kNone || history.values[step.value].seen_by == 0;
}

void SortByDeadline(const Prepared& history, std::vector<Move>* moves) {
  std::stable_sort(moves->begin(), moves->end(), [&](const Move& a, const Move& b) {
    return history.certain[a.back().index].deadline < history.certain[b.back().index].deadline;
  });
}

class Chains {
 public:
  Chains(const Prepared& history, Configuration* at)
      : history_(history), at_(at), end_(at->Window(&candidates_)) {}

  std::vector<Move> Run(bool* cut_short) {
    Extend();
    *cut_short |= cut_short_;
    std::stable_sort(moves_.begin(), moves_.end(),
                     [](const Move& a, const Move& b) { return a.size() < b.size(); });
    return std::move(moves_);
  }

 private:
  bool HasUnknown() const {
    return std::any_of(chain_.begin(), chain_.end(),
                       [](const Action& a) { return a.what == What::kOptional; });
  }

  void Extend() {
    if (chain_.size() == kLongestChain || seen_.size() > kMostChains) {
      cut_short_ = true;
      return;
    }
    // What can vanish at any time need not be changed first.
    const bool pointless =
        chain_.empty() ? false : chain_.back().what == What::kExpire || history_.records_may_vanish;
    if (!pointless) Try({What::kExpire, 0});
    for (uint32_t list = 0; list < history_.optional.size(); ++list) {
      if (at_->used()[list] == history_.optional[list].size()) continue;
      // What it replaces would not have mattered.
      const Kind kind = history_.optional[list][0].source->kind;
      if (!chain_.empty() && (kind == Kind::kPut || kind == Kind::kRemove)) continue;
      Try({What::kOptional, list});
    }
  }

  void Try(Action action) {
    const Configuration::Mark mark = at_->Here();
    if (!at_->Take(action, end_)) return;
    chain_.push_back(action);
    const bool news = !(at_->Essence(at_->state()) == at_->Essence(mark.state));
    if (news && seen_.insert(at_->WholeFingerprint()).second) {
      if (HasUnknown()) Conclude(mark.state);
      Extend();
    }
    chain_.pop_back();
    at_->GoBack(mark);
  }

  // With each candidate to which the chain's last action makes a difference.
  void Conclude(const State& before) {
    for (uint32_t candidate : candidates_) {
      const Step& step = history_.certain[candidate];
      State next, otherwise;
      const Fit fit = FitOf(history_, *at_, step, at_->state(), &next);
      if (fit == Fit::kNo) continue;
      const Fit without = FitOf(history_, *at_, step, before, &otherwise);
      const bool same_end = fit == Fit::kChanges && at_->Essence(next) == at_->Essence(otherwise);
      // Not where it decides which record has the version that was seen.
      const bool later_will_do = fit == Fit::kSame || same_end;
      if (without != Fit::kNo && later_will_do) continue;
      moves_.push_back(chain_);
      moves_.back().push_back({What::kCertain, candidate});
    }
  }

  const Prepared& history_;
  Configuration* at_;
  std::vector<uint32_t> candidates_;
  const int64_t end_;
  Move chain_;
  std::vector<Move> moves_;
  absl::flat_hash_set<Digest> seen_;
  bool cut_short_ = false;
};

}  // namespace

int64_t TakeReaders(Configuration* at, std::vector<uint32_t>* candidates) {
  for (;;) {
    const int64_t end = at->Window(candidates);
    bool taken = false;
    for (uint32_t candidate : *candidates) taken |= at->TakeReader(candidate);
    if (!taken) return end;
  }
}

std::vector<Move> PlainMoves(const Prepared& history, Configuration* at) {
  std::vector<uint32_t> candidates;
  const int64_t end = at->Window(&candidates);
  std::vector<Move> binding, moves, last;
  Move unseen;
  State next;
  for (uint32_t candidate : candidates) {
    if (Unseen(history, history.certain[candidate])) unseen.push_back({What::kCertain, candidate});
  }
  for (uint32_t candidate : candidates) {
    const Step& step = history.certain[candidate];
    const Fit fit = FitOf(history, *at, step, at->state(), &next);
    const Action action{What::kCertain, candidate};
    if (fit == Fit::kBinds) binding.push_back({action});
    if (fit != Fit::kChanges) continue;
    Move absorbing;
    if (step.source->kind == Kind::kPut) {
      for (const Action& each : unseen) {
        if (each.index != candidate) absorbing.push_back(each);
      }
    }
    absorbing.push_back(action);
    if (absorbing.size() > 1) last.push_back({action});
    moves.push_back(std::move(absorbing));
  }
  const Configuration::Mark mark = at->Here();
  if (at->Take({What::kExpire, 0}, end)) {
    for (uint32_t candidate : candidates) {
      State otherwise;
      const Step& step = history.certain[candidate];
      if (FitOf(history, *at, step, at->state(), &next) == Fit::kNo) continue;
      const Fit without = FitOf(history, *at, step, mark.state, &otherwise);
      if (without != Fit::kNo && at->Essence(next) == at->Essence(otherwise)) continue;
      moves.push_back({{What::kExpire, 0}, {What::kCertain, candidate}});
    }
    at->GoBack(mark);
  }
  SortByDeadline(history, &moves);
  moves.insert(moves.begin(), binding.begin(), binding.end());
  moves.insert(moves.end(), last.begin(), last.end());
  return moves;
}

std::vector<Move> UnknownMoves(const Prepared& history, Configuration* at, bool* cut_short) {
  if (history.optional.empty()) return {};
  return Chains(history, at).Run(cut_short);
}

}  // namespace dunlin::linearizability
