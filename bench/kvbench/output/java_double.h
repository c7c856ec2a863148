#pragma once

#include <string>

namespace dunlin::kvbench {

// As Java's Double.toString() writes it, hence YCSB: the fewest digits that read back as the same
// number, "1.0", "0.001", "1.0E7", "NaN".
std::string JavaDouble(double value);

}  // namespace dunlin::kvbench
