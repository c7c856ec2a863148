#pragma once

#include <cstdint>

#include "common/protocol/get.h"
#include "common/protocol/machine.h"

namespace dunlin {

// Finds out what became of a write whose chain was lost with its session. Run by a new session,
// after the old one is fenced, within one incarnation of the server. Compares versions, not slot
// words: a record may have been relocated or frozen since.
class Resolve {
 public:
  struct Lost {
    Key key;
    uint64_t my_version = 0;        // 0: a remove, which has no version of its own
    uint64_t expected_version = 0;  // of the record it was to replace; 0: it expected none
    // An unconditional put, and the expected record (or, under its lock, absence) was seen in the
    // call itself: the successor of another unconditional put then proves that it is done.
    bool may_absorb = false;
  };
  enum class Fate : uint8_t { kDone, kNotDone, kUnknown };

  Resolve() = default;
  explicit Resolve(const Lost& lost) : lost_(lost), get_(lost.key, GetMode::kHead) {}

  Action Step(const Env& env, Chain& chain) {
    Action action = get_.Step(env, chain);
    if (action == Action::kDone) Judge();
    return action;
  }

  // After kDone. kOk: fate() says it. Anything else: the search failed, the fate stays unknown.
  Result result() const { return result_; }
  Fate fate() const { return fate_; }
  const Location& expire_request() const { return get_.expire_request(); }
  const Freed& freed() const { return get_.freed(); }
  Freed TakeFreed() { return get_.TakeFreed(); }

 private:
  void Judge();

  Lost lost_;
  Get get_;
  Result result_ = Result::kInternal;
  Fate fate_ = Fate::kUnknown;
};

}  // namespace dunlin
