#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/fabric/chain.h"
#include "common/layout/lane.h"

namespace dunlin {

// Chains as frames (kChainRequest, kChainReply of layout/lane.h): whole ones where there is no
// one-sided hardware, and what follows a chain's first atomic where the hardware has no atomics.

// The index of the first atomic, or chain.count if there is none.
uint32_t FirstAtomic(const Chain& chain);

// How many bytes the body of the reply to the works from `first` on will have, without what is read
// along.
uint64_t ChainReplyBytes(const Chain& chain, uint32_t first);

// Whether the works from `first` on can go as frames: they read no more than a reply holds, and
// where there is too much to be written for one request, nothing is read before the last WRITE.
bool ChainFitsFrames(const Chain& chain, uint32_t first);

// Hands the bodies of the kChainRequests for the works from `first` on to `emit`, in order. A WRITE
// that is too long for one is cut; every body but the last continues. The chain's wish goes with
// the last. `buffer` is room to compose in. REQUIRES: first < chain.count, ChainFitsFrames(chain,
// first).
using EmitBody = std::function<void(std::span<const std::byte> body)>;
void ComposeChainRequests(const Chain& chain, uint32_t first, std::vector<std::byte>& buffer,
                          const EmitBody& emit);

// Puts what a reply brings into the results, sinks and scratch of the works from `first` on; READs
// that were done along (follow.wanted) are appended. Not empty: the reply is not one to this chain,
// and why; the works are then as they were, unless something was read along. REQUIRES:
// MayFollow(chain, ...), if follow.wanted.
std::string ApplyChainReply(Chain& chain, uint32_t first, std::span<const std::byte> body);

// The server's side: a request as a chain that ExecuteChain can carry out. READs go to where the
// reply is composed.
struct ReceivedChain {
  Chain chain;
  bool continues = false;
  uint64_t reply_bytes = 0;
};
// Believes nothing: not empty if the request must not be executed, and why. `body` is referred to
// by the chain and must stay.
std::string ParseChainRequest(std::span<const std::byte> body, uint64_t region_bytes,
                              bool read_only, ReceivedChain* received);

// Asks the processor for the lines at the beginning of what a request touches. Believes nothing.
void PrefetchChainRequest(std::span<const std::byte> body, const std::byte* region,
                          uint64_t region_bytes);

// Before and after the execution. REQUIRES: `reply` has received.reply_bytes bytes, the same ones.
void PlaceChainReply(ReceivedChain& received, std::span<std::byte> reply);
void FinishChainReply(const ReceivedChain& received, std::span<std::byte> reply);
// Then, if received.chain.follow.wanted: does what is to be done along, and puts what comes of it
// behind the rest of the reply. `carry_out` does a chain as the received one was done; see
// AppendSwing for who may. `lengthen` makes the reply that long, which may move it, and returns it.
using CarryOut = absl::FunctionRef<void(Chain& chain)>;
using LengthenReply = absl::FunctionRef<std::span<std::byte>(uint64_t bytes)>;
void CarryOutWish(ReceivedChain& received, CarryOut carry_out, LengthenReply lengthen);

}  // namespace dunlin
