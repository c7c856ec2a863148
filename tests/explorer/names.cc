#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/layout/bucket.h"
#include "tests/explorer/digest.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {

uint64_t DigestOf(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

std::string_view NameOf(OpKind kind) {
  switch (kind) {
    case OpKind::kGet:
      return "get";
    case OpKind::kPut:
      return "put";
    case OpKind::kIfAbsent:
      return "put-if-absent";
    case OpKind::kReplace:
      return "put-if-present";
    case OpKind::kCas:
      return "compare-and-set";
    case OpKind::kAdd:
      return "add";
    case OpKind::kTouch:
      return "touch";
    case OpKind::kRemove:
      return "remove";
    case OpKind::kScan:
      return "scan";
  }
  return "?";
}

std::string_view NameOf(Result result) {
  switch (result) {
    case Result::kOk:
      return "ok";
    case Result::kNotFound:
      return "not found";
    case Result::kExists:
      return "exists";
    case Result::kVersionMismatch:
      return "version mismatch";
    case Result::kNotInteger:
      return "not an integer";
    case Result::kOverflow:
      return "overflow";
    case Result::kIndexFull:
      return "index full";
    case Result::kMemoryFull:
      return "memory full";
    case Result::kContended:
      return "contended";
    case Result::kUnknown:
      return "unknown";
    case Result::kUnavailable:
      return "unavailable, nothing changed";
    case Result::kDataLoss:
      return "data loss";
    case Result::kTooLarge:
      return "too large";
    case Result::kInternal:
      return "internal error";
  }
  return "?";
}

std::string System::ClientName(uint32_t c) const {
  return std::string("client ") + static_cast<char>('A' + c);
}

std::string System::AddressName(uint64_t address) const {
  char text[48];
  if (address >= kHeapOffset) {
    uint64_t at = address - kHeapOffset;
    uint32_t bytes = BlockBytes(scenario_.block_class);
    std::snprintf(text, sizeof text, "block %u+%u", static_cast<unsigned>(at / bytes),
                  static_cast<unsigned>(at % bytes));
    return text;
  }
  unsigned bucket = static_cast<unsigned>(address % kSubtableStride / geometry_.bucket_bytes);
  unsigned word = PlaceInBucket(geometry_, address);
  unsigned subtable = static_cast<unsigned>(address / kSubtableStride);
  std::string name = scenario_.splits == 0 ? "" : "subtable " + std::to_string(subtable) + " ";
  if (word == 0) {
    std::snprintf(text, sizeof text, "bucket %u header", bucket);
  } else {
    std::snprintf(text, sizeof text, "bucket %u slot %u", bucket, word - 1);
  }
  return name + text;
}

std::string System::WordName(uint64_t address, uint64_t raw) const {
  char text[96];
  if (address >= kHeapOffset) {
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(raw));
    return text;
  }
  if (PlaceInBucket(geometry_, address) == 0) {
    BucketHeader header(raw);
    if (!header.formatted()) return "nobody's";
    std::string identity;
    if (scenario_.splits != 0) {
      identity =
          "(" + std::to_string(header.prefix()) + "/" + std::to_string(header.depth()) + ") ";
    }
    if (!header.held()) return identity + "free";
    std::snprintf(text, sizeof text, "held by session %u", header.owner());
    return identity + text;
  }
  SlotWord word(raw);
  if (word.empty()) return "empty";
  if (!word.live()) return word.moved() ? "MOVED" : "corrupt";
  uint32_t block = book_.IndexOf(word);
  std::snprintf(
      text, sizeof text, "[block %u generation %u: version %llu]%s", block, word.generation(),
      static_cast<unsigned long long>(block < kMaxBlocks ? PlainWord(book_.RecordAt(word) + 8) : 0),
      word.frozen() ? " frozen" : "");
  return text;
}

std::string System::DescribeRegion() const {
  std::string text;
  for (uint32_t i = 0; i < SubtablesUsed() * kBuckets; ++i) {
    uint64_t bucket = BucketAddress(i);
    text += "    " + AddressName(bucket) + ": " + WordName(bucket, WordAt(bucket));
    for (uint32_t s = 0; s < scenario_.slots; ++s) {
      uint64_t slot = geometry_.SlotAddress(bucket, s);
      text += " | " + WordName(slot, WordAt(slot));
    }
    text += "\n";
  }
  return text;
}

}  // namespace dunlin::explorer
