#pragma once

#include <sched.h>

namespace dunlin {

// Whether the calling thread may run on one processor only: who is waited for then can't run while
// the waiting one looks again and again.
inline bool OneProcessor() {
  cpu_set_t processors;
  return ::sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) == 1;
}

// Between two looks at something that another processor is about to change.
inline void PauseProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace dunlin
