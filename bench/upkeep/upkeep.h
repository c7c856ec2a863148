#pragma once

#include <cstdint>

#include "bench/support/bench_support.h"

namespace dunlin::bench {

// What the server does beside the data path, and what that costs those on it. Each part starts
// servers of its own, on shared memory, and prints a line for each figure:
//
//   ratio NAME MEASURED BOUND details
//
// met if MEASURED is at most BOUND. They end the program with a message if they can't measure.
void MeasureGrowth();      // operations held up while the index grows; 50 M records in 7 GiB
void MeasureHotKey();      // eight writers of one key beside one
void MeasurePatrol();      // a reader with and without the patrol
void MeasureEviction();    // hit ratio beside exact LRU and LFU
void MeasureMixedSizes();  // small heaps with values of all sizes

// The n-th key: 16 bytes.
void WriteKey(uint64_t n, char* key);

// Nanoseconds that a thread has waited for a processor: of this one, or of a process's main thread.
int64_t RunQueueNanos();
int64_t RunQueueNanos(int pid);

}  // namespace dunlin::bench
