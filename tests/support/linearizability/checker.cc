#include "tests/support/linearizability/checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/support/linearizability/moves.h"
#include "tests/support/linearizability/zones.h"

namespace dunlin::linearizability {
namespace {

class Search {
 public:
  Search(const Prepared& history, const Options& options)
      : history_(history), options_(options), at_(history) {}

  Report Run() {
    Report report;
    report.verdict = Explore();
    report.configurations = configurations_;
    if (report.verdict == Verdict::kViolation)
      report.explanation = "no order explains the answers. " + ExplainFurthest();
    if (report.verdict == Verdict::kUndecided) {
      report.explanation = "gave up after " + std::to_string(configurations_) + " configurations";
      if (cut_short_) report.explanation += "; some rows of unknown outcomes were too long to try";
      report.explanation += ". " + ExplainFurthest();
    }
    return report;
  }

 private:
  struct Frame {
    Configuration::Mark mark;
    std::vector<Move> moves;
    size_t next = 0;
    bool unknown_tried = false;
  };

  struct Tried {
    int64_t time = 0;
    std::vector<uint32_t> used;
  };

  // The furthest that the search got, for the message.
  struct Furthest {
    uint32_t taken = 0;
    State state;
    std::vector<uint32_t> stuck;
    std::vector<Action> last;
  };

  Verdict Explore() {
    if (Enter()) return Verdict::kLinearizable;
    while (!frames_.empty()) {
      if (configurations_ > options_.max_configurations) return Verdict::kUndecided;
      Frame& frame = frames_.back();
      at_.GoBack(frame.mark);
      if (frame.next == frame.moves.size()) {
        if (frame.unknown_tried) {
          frames_.pop_back();
          continue;
        }
        frame.unknown_tried = true;
        frame.moves = UnknownMoves(history_, &at_, &cut_short_);
        frame.next = 0;
        configurations_ += frame.moves.size();
        continue;
      }
      const Move move = std::move(frame.moves[frame.next++]);
      if (TakeAll(move) && Enter()) return Verdict::kLinearizable;
    }
    return cut_short_ ? Verdict::kUndecided : Verdict::kViolation;
  }

  bool TakeAll(const Move& move) {
    for (const Action& action : move) {
      if (!at_.Take(action, at_.Window(&window_))) return false;
    }
    return true;
  }

  // True: everything has taken place. Else a frame is there to go on from, unless this
  // configuration was seen before.
  bool Enter() {
    TakeReaders(&at_, &window_);
    if (at_.complete()) return true;
    if (at_.taken() > furthest_.taken || configurations_ == 0) Remember();
    ++configurations_;
    if (Hopeless()) return false;
    frames_.push_back({.mark = at_.Here(), .moves = PlainMoves(history_, &at_)});
    return false;
  }

  // Whether a configuration was tried before from which at least as much was possible: the same
  // answers explained, the same record there, no later, and no more of unknown outcome used up.
  bool Hopeless() {
    std::vector<Tried>& tried = seen_[at_.Fingerprint()];
    const auto no_more = [](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
      for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
      }
      return true;
    };
    for (const Tried& each : tried) {
      if (each.time <= at_.time() && no_more(each.used, at_.used())) return true;
    }
    std::erase_if(tried, [&](const Tried& each) {
      return at_.time() <= each.time && no_more(at_.used(), each.used);
    });
    tried.push_back({at_.time(), at_.used()});
    return false;
  }

  void Remember() {
    constexpr size_t kLast = 6;
    furthest_.taken = at_.taken();
    furthest_.state = at_.state();
    furthest_.stuck = window_;
    const auto& trail = at_.trail();
    furthest_.last.assign(trail.end() - static_cast<ptrdiff_t>(std::min(kLast, trail.size())),
                          trail.end());
  }

  std::string ExplainFurthest() const {
    std::string text = "The search got through " + std::to_string(furthest_.taken) + " of " +
                       std::to_string(history_.certain.size()) + " operations, the last ones\n";
    for (const Action& action : furthest_.last) {
      switch (action.what) {
        case Action::What::kCertain:
          text += "  " + Describe(*history_.certain[action.index].source) + "\n";
          break;
        case Action::What::kOptional:
          text += "  an operation of unknown outcome like " +
                  Describe(*history_.optional[action.index][0].source) + "\n";
          break;
        case Action::What::kExpire:
          text += "  expiry\n";
          break;
      }
    }
    text += furthest_.state.present ? "which left a record there, and then none of\n"
                                    : "which left no record there, and then none of\n";
    for (uint32_t stuck : furthest_.stuck) {
      text += "  " + Describe(*history_.certain[stuck].source) + "\n";
    }
    text += "could be next";
    if (furthest_.state.version == kNone) return text;
    // The last ones are what is still to come.
    std::vector<const Step*> observers;
    for (const Step& step : history_.certain) {
      if (step.sees == furthest_.state.version) observers.push_back(&step);
    }
    constexpr size_t kSome = 3;
    for (size_t i = observers.size() - std::min(kSome, observers.size()); i < observers.size();
         ++i) {
      text += (i == 0 || i + kSome == observers.size() ? "; that record was seen by\n  " : "\n  ");
      text += Describe(*observers[i]->source);
    }
    return text;
  }

  const Prepared& history_;
  const Options& options_;
  Configuration at_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> window_;
  absl::flat_hash_map<Digest, std::vector<Tried>> seen_;
  Furthest furthest_;
  uint64_t configurations_ = 0;
  bool cut_short_ = false;
};

}  // namespace

Report Check(std::span<const Operation> operations, const Options& options) {
  const Prepared history = Prepare(operations, options);
  if (!history.contradiction.empty()) {
    return {.verdict = Verdict::kViolation, .explanation = history.contradiction};
  }
  const std::string contradiction = ContradictionOfVersions(history);
  if (!contradiction.empty()) {
    return {.verdict = Verdict::kViolation, .explanation = contradiction};
  }
  return Search(history, options).Run();
}

}  // namespace dunlin::linearizability
