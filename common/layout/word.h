#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dunlin {

// The region is made of aligned 8-byte words; only such a word is read or written whole. Shared
// structs are plain (trivially copyable, so that they can be sent and snapshotted); where two
// processes may touch a word at the same time it is reached through these functions.

inline constexpr size_t kWordBytes = 8;

inline uint64_t LoadWord(const void* address) {
  return std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(const_cast<void*>(address)))
      .load(std::memory_order_acquire);
}

inline uint64_t LoadWordRelaxed(const void* address) {
  return std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(const_cast<void*>(address)))
      .load(std::memory_order_relaxed);
}

// For a second look at a word: ordered after all reads before it, plain ones too, so that these are
// not made later than the look that is to confirm them.
inline uint64_t LoadWordAfterReads(const void* address) {
  std::atomic_thread_fence(std::memory_order_acquire);
  return LoadWord(address);
}

inline void StoreWord(void* address, uint64_t value) {
  std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(address))
      .store(value, std::memory_order_release);
}

// Returns the value found; the swap took place exactly if that equals `expected`.
inline uint64_t CompareSwapWord(void* address, uint64_t expected, uint64_t desired) {
  std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(address))
      .compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
  return expected;
}

inline uint64_t FetchAddWord(void* address, uint64_t delta) {
  return std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(address))
      .fetch_add(delta, std::memory_order_seq_cst);
}

// A plain word out of private memory, of any alignment.
inline uint64_t PlainWord(const void* address) {
  uint64_t word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

inline void SetPlainWord(void* address, uint64_t word) { std::memcpy(address, &word, sizeof word); }

// memcmp(a, b, bytes) == 0, without a call for the lengths that keys mostly have: first and last
// words, which may overlap. Combined, not compared one by one: clang would make that a memcmp.
inline bool SameBytes(const std::byte* a, const std::byte* b, size_t bytes) {
  if (bytes < 8 || bytes > 32) return std::memcmp(a, b, bytes) == 0;
  const auto differ = [a, b](size_t at) { return PlainWord(a + at) ^ PlainWord(b + at); };
  uint64_t difference = differ(0) | differ(bytes - 8);
  if (bytes > 16) difference |= differ(8) | differ(bytes - 16);
  return difference == 0;
}

// memcpy without a call for short values.
inline void CopyBytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes < 16 || bytes > 128) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  // The two halves overlap, so that the lengths are constants.
  const auto copy_ends = [=]<size_t kHalf>(std::integral_constant<size_t, kHalf>) {
    std::memcpy(to, from, kHalf);
    std::memcpy(to + bytes - kHalf, from + bytes - kHalf, kHalf);
  };
  if (bytes <= 32) return copy_ends(std::integral_constant<size_t, 16>());
  if (bytes <= 64) return copy_ends(std::integral_constant<size_t, 32>());
  copy_ends(std::integral_constant<size_t, 64>());
}

}  // namespace dunlin
