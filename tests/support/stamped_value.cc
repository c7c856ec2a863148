#include "tests/support/stamped_value.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/base/random.h"
#include "common/layout/checksum.h"

namespace dunlin::testing {
namespace {

// 'v', the number, the length, a hash of the key with these; then bytes that follow from that hash.
struct Stamp {
  uint64_t number;
  uint64_t bytes;
  uint64_t hash;
};
static_assert(1 + sizeof(Stamp) == kStampBytes);

uint64_t HashOf(std::string_view key, uint64_t number, uint64_t bytes) {
  uint64_t state = number ^ bytes << 40;
  return HashKey(std::as_bytes(std::span(key)), SplitMix64(state));
}

}  // namespace

std::string StampedValue(std::string_view key, uint64_t number, size_t bytes) {
  bytes = std::max(bytes, kStampBytes);
  std::string value(bytes, 'v');
  const Stamp stamp{number, bytes, HashOf(key, number, bytes)};
  std::memcpy(value.data() + 1, &stamp, sizeof stamp);
  uint64_t state = stamp.hash;
  for (size_t at = kStampBytes; at < bytes; at += sizeof state) {
    const uint64_t word = SplitMix64(state);
    std::memcpy(value.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return value;
}

std::optional<uint64_t> StampOf(std::string_view key, std::string_view value) {
  if (value.size() < kStampBytes) return std::nullopt;
  Stamp stamp;
  std::memcpy(&stamp, value.data() + 1, sizeof stamp);
  if (stamp.bytes != value.size() || value != StampedValue(key, stamp.number, value.size())) {
    return std::nullopt;
  }
  return stamp.number;
}

}  // namespace dunlin::testing
