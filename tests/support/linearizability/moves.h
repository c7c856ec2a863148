#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/linearizability/configuration.h"

namespace dunlin::linearizability {

// What may take place next, in one go: actions of which only the last is an answer's.
using Move = std::vector<Action>;

// Lets all candidates take place that the record explains and that leave it as it is: none can do
// without it later. Returns the window's end; what is left of the candidates is in `candidates`.
int64_t TakeReaders(Configuration* at, std::vector<uint32_t>* candidates);

// The moves of certain steps alone, or behind an expiry, the most urgent ones first.
std::vector<Move> PlainMoves(const Prepared& history, Configuration* at);

// The moves that begin with operations of unknown outcome. Such an operation need only be thought
// of right before one that it makes a difference to. `cut_short`: there may be more.
std::vector<Move> UnknownMoves(const Prepared& history, Configuration* at, bool* cut_short);

}  // namespace dunlin::linearizability
