#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/snapshot/snapshot_entry.h"

namespace {

// Where the checksum of a record is, and what it is computed over is no secret: an entry whose
// checksums fit is made of any bytes, so that what lies behind that check is tested as well.
std::string WithChecksums(std::string_view bytes) {
  std::string entry;
  while (bytes.size() >= dunlin::kSnapshotRecordHead) {
    uint64_t header;
    dunlin::SnapshotRecord record;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(&record.version, bytes.data() + 8, sizeof record.version);
    bytes.remove_prefix(dunlin::kSnapshotRecordHead);
    const size_t key = std::min<size_t>(header >> 16 & 0xFFFF, bytes.size());
    const size_t value = std::min<size_t>(header >> 32, bytes.size() - key);
    if (key == 0) break;
    record.unconditional = (header & 1) != 0;
    if ((header & 2) != 0) record.expiry_unix_ms = static_cast<int64_t>(record.version * 3);
    record.key = dunlin::AsBytes(bytes.substr(0, key));
    record.value = dunlin::AsBytes(bytes.substr(key, value));
    dunlin::AppendRecord(record, &entry);
    bytes.remove_prefix(key + value);
  }
  return entry;
}

// What is read can be written, and is then the same bytes.
void ReadAndWrite(std::string_view entry, bool must_be_good) {
  dunlin::EntryReader reader(dunlin::AsBytes(entry));
  dunlin::SnapshotRecord record;
  std::string written;
  while (reader.Next(&record)) dunlin::AppendRecord(record, &written);
  DUNLIN_CHECK(entry.starts_with(written));
  const bool good = reader.error() == dunlin::EntryError::kNone;
  DUNLIN_CHECK(!good || written == entry);
  DUNLIN_CHECK(good || !must_be_good);
  DUNLIN_CHECK(!reader.Next(&record), "the end is the end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAndWrite(bytes, false);
  const std::string entry = WithChecksums(bytes);
  if (!entry.empty()) ReadAndWrite(entry, true);
  return 0;
}
