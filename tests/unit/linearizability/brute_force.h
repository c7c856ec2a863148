#pragma once

#include <span>

#include "tests/support/linearizability/history.h"

namespace dunlin::linearizability {

// The same question as Check(), answered by trying every order, every subset of what may not have
// taken place and every expiry: for a handful of operations. Shares no code with the checker.
bool BruteForce(std::span<const Operation> operations, int64_t expiry_tolerance,
                bool records_may_vanish = false);

}  // namespace dunlin::linearizability
