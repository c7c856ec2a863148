#pragma once

#include <cstddef>

namespace dunlin {

// Asks for the cache line at `address`, to be read (and written) soon. Any address is allowed.
// In assembler where that is possible: g++ 12 takes a function that does nothing but
// __builtin_prefetch for one without effect, and drops the calls.
[[gnu::always_inline]] inline void PrefetchLine(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address);
#endif
}

// The same for a line that is to be written and that another core may have.
[[gnu::always_inline]] inline void PrefetchLineToWrite(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

// All lines of so many bytes, which begin anywhere in a line. REQUIRES: bytes > 0.
[[gnu::always_inline]] inline void PrefetchBytes(const std::byte* address, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes; at += kLine) PrefetchLine(address + at);
  PrefetchLine(address + bytes - 1);
}

}  // namespace dunlin
