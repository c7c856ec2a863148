#include "common/protocol/resolve.h"

namespace dunlin {

void Resolve::Judge() {
  fate_ = Fate::kUnknown;
  result_ = get_.result();
  // An empty place proves nothing: what was expected there, or what was put, may have come and
  // gone.
  if (result_ == Result::kNotFound) {
    result_ = Result::kOk;
    if (DUNLIN_MUTATION(kResolveEmptyAsNotDone) && lost_.expected_version == 0) {
      fate_ = Fate::kNotDone;
    }
  }
  if (get_.result() != Result::kOk) return;
  uint64_t seen = get_.version();
  if (lost_.my_version != 0 && seen == lost_.my_version) {
    fate_ = Fate::kDone;
  } else if (lost_.expected_version != 0 && seen == lost_.expected_version) {
    fate_ = Fate::kNotDone;
  } else if (lost_.my_version != 0 && (lost_.may_absorb || DUNLIN_MUTATION(kResolveUnseen)) &&
             (get_.unconditional() || DUNLIN_MUTATION(kResolveAnyWinner))) {
    fate_ = Fate::kDone;
  }
}

}  // namespace dunlin
