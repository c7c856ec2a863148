#include "server/snapshot/slot_compare.h"

#include <array>
#include <bit>

#include "common/layout/slot.h"
#include "common/layout/word.h"

// The words of a bucket are read by vector loads of aligned memory, which take each aligned word
// whole on every processor that has them. ThreadSanitizer can't know that, so its build does
// without.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUNLIN_PLAIN_COMPARE 1
#endif
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(DUNLIN_PLAIN_COMPARE)
#define DUNLIN_VECTOR_COMPARE 1
#include <immintrin.h>
#endif

namespace dunlin {

uint64_t CompareBucketsPlainly(const std::byte* buckets, uint32_t count, PackedBuckets& packed) {
  uint64_t differ = 0;
  for (uint32_t b = 0; b < count; ++b) {
    const std::byte* bucket = buckets + size_t{b} * kBucketBytes;
    const uint32_t mask = *packed.masks++;
    bool same = true;
    const uint64_t* word = packed.words;
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      const SlotWord now = SlotWord(LoadWordRelaxed(bucket + kWordBytes + s * kWordBytes)).Thawed();
      same = same && now.raw() == ((mask >> s & 1) != 0 ? *word++ : 0);
    }
    packed.words += std::popcount(mask);
    differ |= uint64_t{!same} << b;
  }
  return differ;
}

#ifdef DUNLIN_VECTOR_COMPARE
namespace {

// Lane 0 of a bucket is its header, so slot s lies in lane s + 1.
constexpr uint32_t LanesOf(uint32_t mask) { return mask << 1; }

// For four lanes: where each lane that is in use finds its word among those packed one after
// another, as pairs of 32-bit lanes; and which lanes those are.
struct Expansion {
  alignas(32) std::array<std::array<uint32_t, 8>, 16> from{};
  alignas(32) std::array<std::array<uint64_t, 4>, 16> used{};
};
constexpr Expansion MakeExpansion() {
  Expansion e;
  for (uint32_t mask = 0; mask < 16; ++mask) {
    uint32_t next = 0;
    for (uint32_t lane = 0; lane < 4; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      e.from[mask][2 * lane] = 2 * next;
      e.from[mask][2 * lane + 1] = 2 * next + 1;
      e.used[mask][lane] = ~uint64_t{0};
      ++next;
    }
  }
  return e;
}
constexpr Expansion kExpansion = MakeExpansion();

__attribute__((target("avx2"))) uint64_t CompareByAvx2(const std::byte* buckets, uint32_t count,
                                                       PackedBuckets& packed) {
  const __m256i thaw = _mm256_set1_epi64x(static_cast<int64_t>(~SlotWord::kFrozenBit));
  const __m256i slots_only = _mm256_set_epi64x(-1, -1, -1, 0);
  const uint64_t* words = packed.words;
  uint64_t differ = 0;
  for (uint32_t b = 0; b < count; ++b) {
    const auto* bucket = reinterpret_cast<const __m256i*>(buckets + size_t{b} * kBucketBytes);
    const uint32_t lanes = LanesOf(packed.masks[b]);
    __m256i difference = _mm256_setzero_si256();
    for (uint32_t q = 0; q < 4; ++q) {
      const uint32_t mask = lanes >> (4 * q) & 15;
      __m256i now = _mm256_and_si256(_mm256_load_si256(bucket + q), thaw);
      if (q == 0) now = _mm256_and_si256(now, slots_only);
      const __m256i from =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(&kExpansion.from[mask]));
      const __m256i used =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(&kExpansion.used[mask]));
      const __m256i then = _mm256_permutevar8x32_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)), from);
      difference = _mm256_or_si256(difference, _mm256_xor_si256(now, _mm256_and_si256(then, used)));
      words += std::popcount(mask);
    }
    differ |= uint64_t{_mm256_testz_si256(difference, difference) == 0} << b;
  }
  packed.masks += count;
  packed.words = words;
  return differ;
}

__attribute__((target("avx512f"))) uint64_t CompareByAvx512(const std::byte* buckets,
                                                            uint32_t count, PackedBuckets& packed) {
  const __m512i thaw = _mm512_set1_epi64(static_cast<int64_t>(~SlotWord::kFrozenBit));
  const uint64_t* words = packed.words;
  uint64_t differ = 0;
  for (uint32_t b = 0; b < count; ++b) {
    const std::byte* bucket = buckets + size_t{b} * kBucketBytes;
    const uint32_t lanes = LanesOf(packed.masks[b]);
    const auto low = static_cast<__mmask8>(lanes);
    const auto high = static_cast<__mmask8>(lanes >> 8);
    const __m512i now_low = _mm512_and_si512(_mm512_load_si512(bucket), thaw);
    const __m512i now_high = _mm512_and_si512(_mm512_load_si512(bucket + 64), thaw);
    const __m512i then_low = _mm512_maskz_expandloadu_epi64(low, words);
    words += std::popcount(static_cast<uint32_t>(low));
    const __m512i then_high = _mm512_maskz_expandloadu_epi64(high, words);
    words += std::popcount(static_cast<uint32_t>(high));
    constexpr __mmask8 kSlotsOnly = 0xFE;
    const __mmask8 other = _mm512_mask_cmpneq_epi64_mask(kSlotsOnly, now_low, then_low) |
                           _mm512_cmpneq_epi64_mask(now_high, then_high);
    differ |= uint64_t{other != 0} << b;
  }
  packed.masks += count;
  packed.words = words;
  return differ;
}

}  // namespace
#endif

uint32_t ListCompares(NamedCompare (&list)[3]) {
  uint32_t n = 0;
#ifdef DUNLIN_VECTOR_COMPARE
  if (__builtin_cpu_supports("avx512f") != 0) list[n++] = {"AVX-512", CompareByAvx512};
  if (__builtin_cpu_supports("avx2") != 0) list[n++] = {"AVX2", CompareByAvx2};
#endif
  list[n++] = {"plain", CompareBucketsPlainly};
  return n;
}

NamedCompare FastestCompare() {
  NamedCompare list[3];
  ListCompares(list);
  return list[0];
}

}  // namespace dunlin
