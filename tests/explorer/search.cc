#include "tests/explorer/search.h"

#include <chrono>
#include <deque>

#include "tests/explorer/state_table.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
namespace {

struct Frame {
  World world;
  uint64_t digest = 0;
  double paths = 0;
  std::vector<Transition> next;
  size_t taken = 0;
};

class Searcher {
 public:
  Searcher(const Scenario& scenario, uint64_t max_states)
      : system_(scenario), max_states_(max_states) {}

  SearchResult Run() {
    auto start = std::chrono::steady_clock::now();
    system_.Reset();
    Enter(system_.Digest());
    while (depth_ != 0 && result_.violation.empty()) {
      if (result_.states > max_states_) {
        result_.exhausted = false;
        break;
      }
      Advance();
    }
    if (!result_.violation.empty()) Retrace();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  // The system is in a state that was not seen before.
  void Enter(uint64_t digest) {
    ++result_.states;
    if (depth_ == frames_.size()) frames_.emplace_back();
    Frame& frame = frames_[depth_++];
    result_.depth = std::max(result_.depth, depth_);
    frame.digest = digest;
    frame.paths = 0;
    frame.taken = 0;
    system_.Enumerate(frame.next);
    if (frame.next.empty()) {
      system_.CheckAtRest();
      ++result_.histories;
      frame.paths = 1;
      result_.violation = system_.violation();
      return;
    }
    system_.Save(frame.world);
  }

  void Advance() {
    Frame& frame = frames_[depth_ - 1];
    if (frame.taken == frame.next.size()) return Leave();
    if (frame.taken != 0) {
      system_.Restore(frame.world);
    }
    Transition t = frame.next[frame.taken++];
    system_.Apply(t);
    ++result_.transitions;
    if (!system_.violation().empty()) {
      result_.violation = system_.violation();
      return;
    }
    uint64_t digest = system_.Digest();
    double& paths = seen_.At(digest);
    if (paths == StateTable::kNew) {
      paths = StateTable::kOnPath;
      return Enter(digest);
    }
    if (paths == StateTable::kOnPath) {
      result_.violation = "the operations can go round in a circle";
      return;
    }
    frame.paths += paths;
  }

  void Leave() {
    Frame& frame = frames_[--depth_];
    seen_.At(frame.digest) = frame.paths;
    if (depth_ != 0) {
      frames_[depth_ - 1].paths += frame.paths;
    } else {
      result_.interleavings = frame.paths;
    }
  }

  // Takes the steps that led to the violation once more, and has them told.
  void Retrace() {
    std::vector<Transition> path;
    for (uint32_t i = 0; i < depth_; ++i) {
      if (frames_[i].taken != 0) path.push_back(frames_[i].next[frames_[i].taken - 1]);
    }
    system_.Reset();
    system_.LogTo(&result_.trace);
    result_.trace.push_back("at first:\n" + system_.DescribeRegion());
    for (Transition t : path) system_.Apply(t);
    if (system_.violation().empty()) system_.CheckAtRest();
    result_.trace.push_back("in the end:\n" + system_.DescribeRegion() + system_.DescribeModel());
    system_.LogTo(nullptr);
  }

  System system_;
  uint64_t max_states_;
  uint32_t depth_ = 0;
  std::deque<Frame> frames_;
  StateTable seen_;
  SearchResult result_;
};

}  // namespace

SearchResult Search(const Scenario& scenario, uint64_t max_states) {
  return Searcher(scenario, max_states).Run();
}

}  // namespace dunlin::explorer
