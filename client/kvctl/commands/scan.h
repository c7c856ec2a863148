#pragma once

#include <cstdint>
#include <string>

#include "client/kvctl/context.h"
#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

struct ScanArguments {
  std::string prefix;                   // as written on the command line
  Encoding encoding = Encoding::kText;  // of the prefix, and of what is printed
  uint32_t limit = 100;                 // about so many keys
  uint64_t cursor = 0;                  // 0, or what an earlier scan printed
  bool values = false;
};

// Lists keys in no order, and the cursor with which to go on. Needs Context::session.
ExitCode RunScan(Context& context, const ScanArguments& arguments);

}  // namespace dunlin::kvctl
