#pragma once

#include <string_view>
#include <vector>

#include "common/base/mutation.h"

namespace dunlin::explorer {

struct MutationInfo {
  Mutation mutation;
  std::string_view name;
  std::string_view rule;      // that it breaks
  std::string_view scenario;  // that catches it; a prefix of names
};

const std::vector<MutationInfo>& AllMutations();

}  // namespace dunlin::explorer
