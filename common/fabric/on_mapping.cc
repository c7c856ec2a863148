#include "common/fabric/on_mapping.h"

#include <cstring>

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

// Whoever cuts a WRITE counts its bytes in a word of 32 bits.
constexpr uint64_t kMostBytes = 0xFFFF'FFFF;

bool Aligned(const std::byte* at) { return reinterpret_cast<uintptr_t>(at) % kWordBytes == 0; }

// Word by word: a bucket's slots may change under the reader, and each must be read whole.
void CopyWords(std::byte* to, const std::byte* from, uint32_t bytes) {
  uint32_t whole = Aligned(from) ? bytes & ~7u : 0;
  for (uint32_t i = 0; i < whole; i += 8) SetPlainWord(to + i, LoadWord(from + i));
  if (whole != bytes) std::memcpy(to + whole, from + whole, bytes - whole);
}

// Into a block that no slot points to: nobody reads it but a reader whose words are too old, and
// that one throws away what it read. ThreadSanitizer can't know, so it sees words.
void CopyIn(std::byte* to, const std::byte* from, uint32_t bytes) {
#ifdef DUNLIN_TSAN
  while (bytes >= 8 && Aligned(to)) {
    StoreWord(to, PlainWord(from));
    to += 8, from += 8, bytes -= 8;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace

bool ChainAllowed(const Chain& chain, uint64_t bytes, bool read_only) {
  bool outside = false;
  for (uint32_t i = 0; i < chain.count; ++i) {
    const Work& w = chain.work[i];
    uint64_t extent = uint64_t{w.length} + w.tail_length;
    outside |= extent > bytes || w.remote > bytes - extent || extent > kMostBytes;
    outside |= IsWordVerb(w.verb) && w.remote % kWordBytes != 0;
  }
  bool changes = chain.writes != 0 || chain.atomics != 0;
  return !outside && !(read_only && changes);
}

void ExecuteChain(Chain& chain, std::byte* base) {
  for (uint32_t i = 0; i < chain.count; ++i) {
    Work& w = chain.work[i];
    std::byte* at = base + w.remote;
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
        if (w.length != 0) CopyIn(at, chain.scratch + w.local, w.length);
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
