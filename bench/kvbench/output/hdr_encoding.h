#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/histogram.h"

namespace dunlin::kvbench {

// The histogram in HdrHistogram's compressed format V2 (three significant digits, from 1 to 2^42),
// in Base64: what HdrHistogram's readers in every language take. Values stay within 0.1 %.
absl::StatusOr<std::string> EncodeHdr(const Histogram& histogram);

// The same before the compression: for tests.
std::string EncodeHdrPlain(const Histogram& histogram);

}  // namespace dunlin::kvbench
