#pragma once

#include <cstddef>
#include <cstdint>

#include "common/fabric/chain.h"

namespace dunlin {

// Chains carried out by this processor on a mapping of the region: by the client on shared memory,
// by the server where a fabric sends chains to it. Thread safe.

// Whether every verb's range lies inside the region's `bytes` and is shorter than 4 GiB, words are
// aligned, and nothing is changed if `read_only`.
bool ChainAllowed(const Chain& chain, uint64_t bytes, bool read_only);

// Executes the verbs in order and fills in their results. A READ by reference is not copied.
// REQUIRES: ChainAllowed.
void ExecuteChain(Chain& chain, std::byte* base);

}  // namespace dunlin
