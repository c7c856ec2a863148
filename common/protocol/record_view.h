#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/layout/checksum.h"
#include "common/protocol/machine.h"

namespace dunlin {

// What is known of a record whose first bytes lie at `data`.
struct RecordView {
  const std::byte* data = nullptr;
  RecordHeader header{0};
  uint64_t version = 0;
  uint64_t checksum = 0;
  uint64_t expiry = 0;
};

enum class RecordMatch : uint8_t {
  kSameKey,
  kOtherKey,
  kTorn,  // not the record that the slot word named: read too late, or damaged
};

// Looks at a record that was read through `word`. REQUIRES: at `data` lie at least
// min(block, kMaxRecordHead + key.bytes) bytes.
[[gnu::always_inline]] inline RecordMatch MatchRecord(const std::byte* data, SlotWord word,
                                                      const Key& key, RecordView* view) {
  RecordHeader header(LoadWord(data));
  if (!IsRecordOf(header, word)) return RecordMatch::kTorn;
  if (header.key_bytes() != key.bytes) return RecordMatch::kOtherKey;
  if (!SameBytes(data + header.key_offset(), key.data, key.bytes) &&
      !DUNLIN_MUTATION(kKeyByFingerprint)) {
    return RecordMatch::kOtherKey;
  }
  view->data = data;
  view->header = header;
  view->version = LoadWord(data + 8);
  view->checksum = LoadWord(data + 16);
  view->expiry = header.expires() ? LoadWord(data + kRecordPrefixBytes) : 0;
  return RecordMatch::kSameKey;
}

inline bool ChecksumFits(const RecordView& view, const Key& key, const std::byte* value) {
  return view.checksum == RecordChecksum(view.header, view.version, view.expiry,
                                         {key.data, key.bytes}, {value, view.header.value_bytes()});
}

// Composes the head of a record (header and key) at `image`; returns its bytes. The checksum covers
// the value, which follows the key in the region.
inline uint32_t ComposeHead(std::byte* image, const Block& block, bool unconditional,
                            uint64_t expiry, const Key& key, std::span<const std::byte> value) {
  RecordHeader header = RecordHeader::Make(block.word.generation(), unconditional, expiry != 0,
                                           key.bytes, static_cast<uint32_t>(value.size()));
  SetPlainWord(image, header.raw());
  SetPlainWord(image + 8, block.version);
  SetPlainWord(image + 16,
               RecordChecksum(header, block.version, expiry, {key.data, key.bytes}, value));
  if (expiry != 0) SetPlainWord(image + kRecordPrefixBytes, expiry);
  CopyBytes(image + header.key_offset(), key.data, key.bytes);
  return header.value_offset();
}

}  // namespace dunlin
