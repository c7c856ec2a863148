#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// A record of several fields as one value: each field's name and content, both behind their length
// as a 32-bit big-endian number. That is how YCSB's RocksDB binding writes them.

namespace dunlin::kvbench {

constexpr uint64_t PackedFieldBytes(uint64_t name_bytes, uint64_t content_bytes) {
  return 2 * sizeof(uint32_t) + name_bytes + content_bytes;
}

void AppendField(std::string_view name, std::string_view content, std::string& record);

struct Field {
  std::string_view name, content;
};

// Takes the first field off `record`; unset if that is empty or malformed.
std::optional<Field> TakeField(std::string_view& record);

// `record` with the field's content replaced, or added, appended to `to`. False: it is malformed.
[[nodiscard]] bool ReplaceField(std::string_view record, std::string_view name,
                                std::string_view content, std::string& to);

}  // namespace dunlin::kvbench
