#pragma once

#include <cstdint>

#include "common/fabric/chain.h"

namespace dunlin {

// What Chain::follow asks for. Whoever carries a chain out where the region lies can read along
// what the chain's READs name, which saves a round trip (compare the indirect READs of PRISM, SOSP
// 2021), and swing the slot that this finds, which saves one more. Both ends decide by these
// functions what that is, from the same copies of the buckets.

// Whether the wish of this chain can be granted in a region of so many bytes. Believes nothing.
bool MayFollow(const Chain& chain, uint64_t region_bytes);

// At most so many bytes are read along.
uint64_t MostFollowedBytes(const Follow& follow);

// Once the chain's works have been carried out: appends READs of the records that the slots in its
// two buckets name, in the order of the slots, and says how many. REQUIRES: MayFollow.
uint32_t AppendFollowed(Chain& chain);

// Once these have been carried out: appends the CASes that the chain's wish to swing comes to, none
// if it can't be decided here, and says how many. Whoever carries them out must be the one that
// frees blocks for reuse, and must not have done so since the chain's first READ: the words that
// they rely on have no other age. REQUIRES: MayFollow, and AppendFollowed was called.
uint32_t AppendSwing(Chain& chain);

}  // namespace dunlin
