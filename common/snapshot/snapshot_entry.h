#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dunlin {

// An entry of a snapshot: all records of one tag, one after another. Each record is
//
//   u64  header: bit 0 unconditional, bit 1 expires, bits 16..31 bytes of the key (not 0),
//        bits 32..63 bytes of the value; the other bits are zero
//   u64  version
//   u64  checksum: XXH3-64 of what follows it, seeded with header and version
//   i64  expiry, unix milliseconds of the wall clock; there only if the header says so
//   then the key, then the value
//
// Numbers are little endian. An entry has at least one record.
struct SnapshotRecord {
  uint64_t version = 0;
  bool unconditional = false;
  std::optional<int64_t> expiry_unix_ms;
  std::span<const std::byte> key;    // 1 to 65,535 bytes
  std::span<const std::byte> value;  // less than 4 GiB
};

inline constexpr size_t kSnapshotRecordHead = 24;

// What EncodeRecord writes.
inline size_t EncodedBytes(const SnapshotRecord& record) {
  return kSnapshotRecordHead + (record.expiry_unix_ms ? sizeof(int64_t) : 0) + record.key.size() +
         record.value.size();
}

// Writes `record` and returns the end of it. REQUIRES: room for EncodedBytes(record) at `to`; key
// and value within their limits.
std::byte* EncodeRecord(const SnapshotRecord& record, std::byte* to);

// The same where the key lies behind head and expiry already, and the value behind the key: writes
// only those two. REQUIRES: `record`'s key and value are those.
void EncodeAround(const SnapshotRecord& record, std::byte* to);

// The same at the end of `entry`.
void AppendRecord(const SnapshotRecord& record, std::string* entry);

enum class EntryError : uint8_t {
  kNone,
  kEmpty,     // no record at all
  kCut,       // ends within a record
  kReserved,  // a header bit that must be zero is not
  kNoKey,     // a key of no bytes
  kChecksum,  // not what was written
};

const char* EntryErrorText(EntryError error);

// Reads the records of an entry, whatever the bytes are. Records point into the entry.
class EntryReader {
 public:
  explicit EntryReader(std::span<const std::byte> entry) : rest_(entry) {
    if (rest_.empty()) error_ = EntryError::kEmpty;
  }

  // False at the end of the entry and at the first error. What it brings is whole.
  bool Next(SnapshotRecord* record);

  EntryError error() const { return error_; }

 private:
  bool Fail(EntryError error) {
    error_ = error;
    return false;
  }

  std::span<const std::byte> rest_;
  EntryError error_ = EntryError::kNone;
};

}  // namespace dunlin
