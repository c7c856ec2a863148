#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "common/base/bytes.h"
#include "common/snapshot/snapshot_entry.h"

namespace dunlin {
namespace {

SnapshotRecord Record(std::string_view key, std::string_view value, uint64_t version = 7) {
  SnapshotRecord record;
  record.version = version;
  record.key = AsBytes(key);
  record.value = AsBytes(value);
  return record;
}

EntryError ErrorOf(const std::string& entry) {
  EntryReader reader(AsBytes(entry));
  SnapshotRecord record;
  while (reader.Next(&record)) {
  }
  return reader.error();
}

TEST(SnapshotEntry, BringsBackWhatWasWritten) {
  std::string entry;
  SnapshotRecord first = Record("key", "value", ~uint64_t{0});
  first.unconditional = true;
  first.expiry_unix_ms = std::numeric_limits<int64_t>::min();
  const std::string long_key(65535, 'k');
  AppendRecord(first, &entry);
  AppendRecord(Record(long_key, ""), &entry);
  EXPECT_EQ(entry.size(), EncodedBytes(first) + EncodedBytes(Record(long_key, "")));

  EntryReader reader(AsBytes(entry));
  SnapshotRecord record;
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.version, ~uint64_t{0});
  EXPECT_TRUE(record.unconditional);
  EXPECT_EQ(record.expiry_unix_ms, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(AsText(record.key), "key");
  EXPECT_EQ(AsText(record.value), "value");
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_FALSE(record.unconditional);
  EXPECT_EQ(record.expiry_unix_ms, std::nullopt);
  EXPECT_EQ(AsText(record.key), long_key);
  EXPECT_TRUE(record.value.empty());
  EXPECT_FALSE(reader.Next(&record));
  EXPECT_EQ(reader.error(), EntryError::kNone);
}

TEST(SnapshotEntry, IsTheDocumentedBytes) {
  SnapshotRecord record = Record("K", "vw", 0x0102030405060708);
  record.expiry_unix_ms = 5;
  record.unconditional = true;
  std::string entry;
  AppendRecord(record, &entry);
  ASSERT_EQ(entry.size(), 24u + 8 + 1 + 2);
  EXPECT_EQ(entry.substr(0, 8), std::string("\x03\0\x01\0\x02\0\0\0", 8));
  EXPECT_EQ(entry.substr(8, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(entry.substr(24, 8), std::string("\x05\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(entry.substr(32), "Kvw");
}

TEST(SnapshotEntry, EveryFlippedBitAndEveryCutIsNoticed) {
  std::string entry;
  SnapshotRecord with_expiry = Record("some key", "some value");
  with_expiry.expiry_unix_ms = 1'700'000'000'000;
  AppendRecord(with_expiry, &entry);
  const size_t first = entry.size();
  AppendRecord(Record("other", std::string(300, 'x')), &entry);
  ASSERT_EQ(ErrorOf(entry), EntryError::kNone);
  for (size_t bit = 0; bit < entry.size() * 8; ++bit) {
    std::string flipped = entry;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(ErrorOf(flipped), EntryError::kNone) << "bit " << bit;
  }
  for (size_t bytes = 0; bytes < entry.size(); ++bytes) {
    const EntryError expected = bytes == 0       ? EntryError::kEmpty
                                : bytes == first ? EntryError::kNone
                                                 : EntryError::kCut;
    EXPECT_EQ(ErrorOf(entry.substr(0, bytes)), expected) << bytes << " bytes";
  }
}

TEST(SnapshotEntry, SaysWhatIsWrong) {
  std::string entry;
  AppendRecord(Record("key", "value"), &entry);
  std::string reserved = entry;
  reserved[0] = 4;
  EXPECT_EQ(ErrorOf(reserved), EntryError::kReserved);
  std::string no_key = entry;
  no_key[2] = no_key[3] = 0;
  EXPECT_EQ(ErrorOf(no_key), EntryError::kNoKey);
  std::string other = entry;
  other.back() ^= 1;
  EXPECT_EQ(ErrorOf(other), EntryError::kChecksum);
  EXPECT_STREQ(EntryErrorText(EntryError::kChecksum), "a record that doesn't match its checksum");
}

}  // namespace
}  // namespace dunlin
