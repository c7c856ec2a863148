#include "bench/kvbench/bindings/in_process.h"

#include <malloc.h>

#include <algorithm>

#include "common/base/status.h"

namespace dunlin::kvbench {

absl::StatusOr<size_t> ExpectedRecords(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const int64_t records, properties.GetInt("recordcount", 0));
  return static_cast<size_t>(std::clamp<int64_t>(records, 1024, int64_t{1} << 32));
}

ServerUse HeapUse() {
  const struct mallinfo2 info = mallinfo2();
  ServerUse use;
  use.memory_bytes = info.uordblks + info.hblkhd;
  use.known = use.memory_bytes > 0;
  return use;
}

}  // namespace dunlin::kvbench
