#include "common/fabric/shm/shm_channel.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/prefetch.h"
#include "common/layout/word.h"

#if defined(__SANITIZE_THREAD__)
#define DUNLIN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUNLIN_TSAN 1
#endif
#endif

namespace dunlin {
namespace {

constexpr uint64_t kLine = 64;

// Word by word: a bucket's slots may change under the reader, and each must be read whole.
void CopyWords(std::byte* to, const std::byte* from, uint32_t bytes) {
  uint32_t whole = bytes & ~7u;
  for (uint32_t i = 0; i < whole; i += 8) SetPlainWord(to + i, LoadWord(from + i));
  if (whole != bytes) std::memcpy(to + whole, from + whole, bytes - whole);
}

// Into a block that no slot points to: nobody reads it but a reader whose words are too old, and
// that one throws away what it read. ThreadSanitizer can't know, so it sees words.
void CopyIn(std::byte* to, const std::byte* from, uint32_t bytes) {
#ifdef DUNLIN_TSAN
  while (bytes >= 8 && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
    StoreWord(to, PlainWord(from));
    to += 8, from += 8, bytes -= 8;
  }
#endif
  std::memcpy(to, from, bytes);
}

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

bool ShmChannel::Allowed(const Chain& chain) const {
  bool outside = false;
  for (uint32_t i = 0; i < chain.count; ++i) {
    const Work& w = chain.work[i];
    uint64_t extent = uint64_t{w.length} + w.tail_length;
    outside |= extent > bytes_ || w.remote > bytes_ - extent;
    outside |= IsWordVerb(w.verb) && w.remote % kWordBytes != 0;
  }
  bool changes = chain.writes != 0 || chain.atomics != 0;
  return !outside && !(read_only_ && changes) && broken_.ok();
}

void ShmChannel::Post(Chain* chain) {
  DUNLIN_CHECK(tail_ - head_ < kDepth);
  DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
  chain->outcome = ChainOutcome::kPending;
  posted_[tail_++ % kDepth] = chain;
  for (uint32_t i = 0; i < chain->count; ++i) {
    const Work& w = chain->work[i];
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
    if (Allowed(*chain)) {
      Execute(*chain);
      chain->outcome = ChainOutcome::kDone;
    } else {
      chain->outcome = ChainOutcome::kNotExecuted;
    }
    finished[n++] = chain;
  }
  return n;
}

void ShmChannel::Execute(Chain& chain) const {
  for (uint32_t i = 0; i < chain.count; ++i) {
    Work& w = chain.work[i];
    std::byte* at = base_ + w.remote;
    switch (w.verb) {
      case Verb::kReadWord:
        w.result = LoadWord(at);
        break;
      case Verb::kRead:
        if (w.by_reference) {
          w.data = at;
        } else {
          std::byte* to = w.sink != nullptr ? w.sink : chain.scratch + w.local;
          CopyWords(to, at, w.length);
          w.data = to;
        }
        break;
      case Verb::kWrite:
        // The CAS that links this record is a full barrier, so who sees the slot sees the record.
        CopyIn(at, chain.scratch + w.local, w.length);
        if (w.tail_length != 0) CopyIn(at + w.length, w.tail, w.tail_length);
        break;
      case Verb::kCompareSwap:
        w.result = CompareSwapWord(at, w.compare, w.swap);
        break;
      case Verb::kFetchAdd:
        w.result = FetchAddWord(at, w.swap);
        break;
    }
  }
}

}  // namespace dunlin
