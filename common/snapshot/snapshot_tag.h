#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dunlin {

// A record's tag: those 42 bits of its key's hash (common/layout/geometry.h) that say where in the
// index it is, and the key of its entry in a snapshot's database.
//
//   bits 20..41  hash bits 42..63: position in the index     bits 10..19  hash bits 32..41:
//   fingerprint bits 0..9    hash bits 0..9: first bucket, in part
//
// Tags increase as a walk through the subtables goes on. Two keys may share a tag: they share an
// entry, too.
inline constexpr int kSnapshotTagBits = 42;
inline constexpr uint64_t kSnapshotTagEnd = uint64_t{1} << kSnapshotTagBits;

constexpr uint64_t SnapshotTag(uint64_t hash) { return (hash >> 32) << 10 | (hash & 1023); }

// The tag as the database's key: 6 bytes that sort as the tags do, the last 6 bits zero.
inline constexpr size_t kSnapshotKeyBytes = 6;
using SnapshotKey = std::array<char, kSnapshotKeyBytes>;
inline constexpr int kSnapshotKeyShift = int{kSnapshotKeyBytes} * 8 - kSnapshotTagBits;

// REQUIRES: tag < kSnapshotTagEnd.
constexpr SnapshotKey EncodeSnapshotKey(uint64_t tag) {
  SnapshotKey key{};
  const uint64_t number = tag << kSnapshotKeyShift;
  for (size_t i = 0; i < kSnapshotKeyBytes; ++i) {
    key[i] = static_cast<char>(number >> (8 * (kSnapshotKeyBytes - 1 - i)));
  }
  return key;
}

// Nothing if `key` is no tag.
constexpr std::optional<uint64_t> DecodeSnapshotKey(std::string_view key) {
  if (key.size() != kSnapshotKeyBytes) return std::nullopt;
  uint64_t number = 0;
  for (const char byte : key) number = number << 8 | static_cast<uint8_t>(byte);
  if ((number & ((uint64_t{1} << kSnapshotKeyShift) - 1)) != 0) return std::nullopt;
  return number >> kSnapshotKeyShift;
}

}  // namespace dunlin
