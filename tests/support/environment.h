#pragma once

#include <cstdint>
#include <cstdlib>

namespace dunlin::testing {

// What the environment asks of a test: the number in `name`, or `otherwise`.
inline uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace dunlin::testing
