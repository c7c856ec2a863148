#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <string>

#include "tests/explorer/world.h"

namespace dunlin::explorer {

// The client's machine, which is a Machine.
template <typename Machine>
Machine& As(Client& k) {
  return *std::launder(reinterpret_cast<Machine*>(k.storage));
}

inline std::span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace dunlin::explorer
