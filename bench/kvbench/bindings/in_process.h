#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/properties.h"

// What the stores in this process share.

namespace dunlin::kvbench {

// How many records `properties` speak of ("recordcount"), to make room for them. At least 1024.
absl::StatusOr<size_t> ExpectedRecords(const Properties& properties);

// No other process takes any time, and the memory is what malloc has given out to anybody here. The
// driver's own share of it is the same with and without records. Not known where another malloc is
// in the C library's place, as the sanitizers' is.
ServerUse HeapUse();

}  // namespace dunlin::kvbench
