#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dunlin::kvctl {

// One record of an import or export stream. Key and value are any bytes.
struct Record {
  std::string key;
  std::string value;
  std::optional<uint64_t> ttl_ms;  // none: the record does not expire

  friend bool operator==(const Record&, const Record&) = default;
};

// What a reader accepts, and so the most that it keeps in memory for one record.
struct RecordLimits {
  size_t max_key = 65'535;
  size_t max_value = size_t{64} << 20;
};

// How bytes are written in a text stream.
enum class Encoding { kText, kHex, kBase64 };

}  // namespace dunlin::kvctl
