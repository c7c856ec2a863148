#include "common/fabric/shm/shm_channel.h"

#include "common/base/check.h"
#include "common/base/prefetch.h"
#include "common/fabric/on_mapping.h"

namespace dunlin {
namespace {

constexpr uint64_t kLine = 64;

// The first lines hide the latency; the hardware prefetcher follows a long run by itself.
void PrefetchRange(const std::byte* from, uint32_t bytes) {
  constexpr uint32_t kMostBytes = 6 * kLine;
  const std::byte* end = from + (bytes < kMostBytes ? bytes : kMostBytes);
  for (const std::byte* at = from; at < end; at += kLine) PrefetchLine(at);
  PrefetchLine(end - 1);
}

}  // namespace

ShmChannel::ShmChannel(std::byte* base, uint64_t bytes, bool read_only)
    : base_(base), bytes_(bytes), read_only_(read_only) {}

void ShmChannel::Post(Chain* chain) {
  DUNLIN_CHECK(tail_ - head_ < kDepth);
  DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
  chain->outcome = ChainOutcome::kPending;
  chain->follow.wanted = false;
  posted_[tail_++ % kDepth] = chain;
  for (uint32_t i = 0; i < chain->count; ++i) {
    const Work& w = chain->work[i];
    if (w.remote >= bytes_) continue;  // Poll refuses it
    const std::byte* at = base_ + w.remote;
    if (IsWordVerb(w.verb)) {
      PrefetchLine(at);
    } else {
      PrefetchRange(at, w.length);
    }
  }
}

uint32_t ShmChannel::Poll(Chain** finished, uint32_t max) {
  uint32_t n = 0;
  while (n < max && head_ != tail_) {
    Chain* chain = posted_[head_++ % kDepth];
    if (broken_.ok() && ChainAllowed(*chain, bytes_, read_only_)) {
      ExecuteChain(*chain, base_);
      chain->outcome = ChainOutcome::kDone;
    } else {
      chain->outcome = ChainOutcome::kNotExecuted;
    }
    finished[n++] = chain;
  }
  return n;
}

}  // namespace dunlin
