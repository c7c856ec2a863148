#pragma once

#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/base/status.h"

namespace dunlin {

// RocksDB's status as ours; `context` says what was being done, to which file.
absl::Status FromRocks(const rocksdb::Status& status, std::string_view context);

}  // namespace dunlin

// Returns from the enclosing function unless the rocksdb::Status or IOStatus is OK.
#define DUNLIN_RETURN_IF_ROCKS_ERROR(expression, context)     \
  do {                                                        \
    if (const ::rocksdb::Status dunlin_rocks_ = (expression); \
        __builtin_expect(!dunlin_rocks_.ok(), 0)) {           \
      return ::dunlin::FromRocks(dunlin_rocks_, (context));   \
    }                                                         \
  } while (false)
