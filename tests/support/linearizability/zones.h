#pragma once

#include <string>

#include "tests/support/linearizability/prepared.h"

namespace dunlin::linearizability {

// What versions alone contradict, found without a search; empty if nothing. A version is current
// from its write to its replacement, once, so two of them can't both have been current for certain,
// nor can one have come and gone while another was (Gibbons and Korach 1997, zones of values).
std::string ContradictionOfVersions(const Prepared& history);

}  // namespace dunlin::linearizability
