#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/layout/checksum.h"
#include "common/layout/record.h"
#include "common/layout/word.h"

namespace dunlin {

// A record's bytes (common/layout/record.h) copied to private memory. What its header speaks of has
// to be there as far as it is asked for. Cheap to copy.
class RecordImage {
 public:
  explicit RecordImage(const std::byte* data) : data_(data) {}

  RecordHeader header() const { return RecordHeader(PlainWord(data_)); }
  uint64_t bytes() const { return header().record_bytes(); }
  uint64_t version() const { return PlainWord(data_ + offsetof(RecordPrefix, version)); }
  uint64_t checksum() const { return PlainWord(data_ + offsetof(RecordPrefix, checksum)); }
  // In ticks, 0: never.
  uint64_t expiry() const { return header().expires() ? PlainWord(data_ + kRecordPrefixBytes) : 0; }
  std::span<const std::byte> key() const {
    return {data_ + header().key_offset(), header().key_bytes()};
  }
  std::span<const std::byte> value() const {
    return {data_ + header().value_offset(), header().value_bytes()};
  }
  // Whether it is what somebody wrote.
  bool whole() const {
    return checksum() == RecordChecksum(header(), version(), expiry(), key(), value());
  }

 private:
  const std::byte* data_;
};

}  // namespace dunlin
