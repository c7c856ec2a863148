#include "common/snapshot/snapshot_entry.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace dunlin {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

constexpr uint64_t kUnconditionalBit = 1;
constexpr uint64_t kExpiryBit = 2;
constexpr uint64_t kReservedMask = 0xFFFC;
constexpr int kKeyBytesShift = 16;
constexpr int kValueBytesShift = 32;

uint64_t HeaderOf(const SnapshotRecord& record) {
  return (record.unconditional ? kUnconditionalBit : 0) | (record.expiry_unix_ms ? kExpiryBit : 0) |
         uint64_t{record.key.size()} << kKeyBytesShift |
         uint64_t{record.value.size()} << kValueBytesShift;
}

// Odd factors, so that no change of one word alone leaves the seed as it was.
uint64_t ChecksumOf(uint64_t header, uint64_t version, const std::byte* rest, size_t bytes) {
  const uint64_t seed = header * 0x9E3779B97F4A7C15u ^ std::rotl(version * 0xC2B2AE3D27D4EB4Fu, 32);
  return XXH3_64bits_withSeed(rest, bytes, seed);
}

uint64_t LoadWord(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::byte* CopyTo(std::byte* to, const void* from, size_t bytes) {
  // A value may be empty and have no address.
  if (bytes != 0) std::memcpy(to, from, bytes);
  return to + bytes;
}

}  // namespace

std::byte* EncodeRecord(const SnapshotRecord& record, std::byte* to) {
  std::byte* end = to + kSnapshotRecordHead + (record.expiry_unix_ms ? sizeof(int64_t) : 0);
  end = CopyTo(end, record.key.data(), record.key.size());
  end = CopyTo(end, record.value.data(), record.value.size());
  EncodeAround(record, to);
  return end;
}

void EncodeAround(const SnapshotRecord& record, std::byte* to) {
  const uint64_t header = HeaderOf(record);
  std::byte* const rest = to + kSnapshotRecordHead;
  if (record.expiry_unix_ms) std::memcpy(rest, &*record.expiry_unix_ms, sizeof(int64_t));
  const size_t bytes = EncodedBytes(record) - kSnapshotRecordHead;
  const uint64_t head[] = {header, record.version, ChecksumOf(header, record.version, rest, bytes)};
  static_assert(sizeof head == kSnapshotRecordHead);
  std::memcpy(to, head, sizeof head);
}

void AppendRecord(const SnapshotRecord& record, std::string* entry) {
  const size_t before = entry->size();
  entry->resize(before + EncodedBytes(record));
  EncodeRecord(record, reinterpret_cast<std::byte*>(entry->data()) + before);
}

const char* EntryErrorText(EntryError error) {
  switch (error) {
    case EntryError::kNone:
      return "nothing wrong";
    case EntryError::kEmpty:
      return "an entry without a record";
    case EntryError::kCut:
      return "an entry that ends within a record";
    case EntryError::kReserved:
      return "a record whose header has bits set that must be zero";
    case EntryError::kNoKey:
      return "a record without a key";
    case EntryError::kChecksum:
      return "a record that doesn't match its checksum";
  }
  return "an unknown error";
}

bool EntryReader::Next(SnapshotRecord* record) {
  if (error_ != EntryError::kNone || rest_.empty()) return false;
  if (rest_.size() < kSnapshotRecordHead) return Fail(EntryError::kCut);
  const uint64_t header = LoadWord(rest_.data());
  const uint64_t version = LoadWord(rest_.data() + 8);
  const uint64_t checksum = LoadWord(rest_.data() + 16);
  if ((header & kReservedMask) != 0) return Fail(EntryError::kReserved);
  const size_t key_bytes = header >> kKeyBytesShift & 0xFFFF;
  const size_t value_bytes = header >> kValueBytesShift;
  const size_t expiry_bytes = (header & kExpiryBit) != 0 ? sizeof(int64_t) : 0;
  if (key_bytes == 0) return Fail(EntryError::kNoKey);
  const std::span<const std::byte> after_head = rest_.subspan(kSnapshotRecordHead);
  const size_t bytes = expiry_bytes + key_bytes + value_bytes;
  if (after_head.size() < bytes) return Fail(EntryError::kCut);
  if (ChecksumOf(header, version, after_head.data(), bytes) != checksum) {
    return Fail(EntryError::kChecksum);
  }
  record->version = version;
  record->unconditional = (header & kUnconditionalBit) != 0;
  record->expiry_unix_ms.reset();
  if (expiry_bytes != 0) {
    record->expiry_unix_ms = static_cast<int64_t>(LoadWord(after_head.data()));
  }
  record->key = after_head.subspan(expiry_bytes, key_bytes);
  record->value = after_head.subspan(expiry_bytes + key_bytes, value_bytes);
  rest_ = after_head.subspan(bytes);
  return true;
}

}  // namespace dunlin
