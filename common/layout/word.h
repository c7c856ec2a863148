#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

}  // namespace dunlin
