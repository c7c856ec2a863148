#pragma once

#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

// This machine. What can't be found out is left empty.
Host DescribeHost();

}  // namespace dunlin::kvbench
