#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/snapshot_reader.h"
#include "common/snapshot/snapshot_store.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin {
namespace {

namespace files = std::filesystem;
using testing::Contents;
using testing::ContentsOfPass;

class SnapshotReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = SnapshotStore::Open(testing::TestOptions(dir_));
    ASSERT_TRUE(store.ok()) << store.status();
    const Contents before = ContentsOfPass(5);
    ASSERT_TRUE(testing::MakeSnapshot(**store, nullptr, before).ok());
    ASSERT_TRUE(testing::MakeSnapshot(**store, &before, contents_).ok());
  }
  std::unique_ptr<SnapshotReader> Open() {
    auto reader = SnapshotReader::Open(dir_, 2, {});
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  const std::string dir_ = folder_.path() + "/snapshots";
  const Contents contents_ = ContentsOfPass(6);
};

TEST_F(SnapshotReaderTest, GetsEachRecordAndNoOther) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  for (const auto& [key, record] : contents_) {
    const auto found = reader->Get(AsBytes(key));
    ASSERT_TRUE(found.ok() && found->has_value()) << key;
    EXPECT_EQ((*found)->key, key);
    EXPECT_EQ((*found)->value, record.value);
    EXPECT_EQ((*found)->version, record.version);
    EXPECT_EQ((*found)->unconditional, record.unconditional);
    EXPECT_EQ((*found)->expiry_unix_ms, record.expiry_unix_ms);
  }
  for (const auto& [key, record] : ContentsOfPass(5)) {
    const auto found = reader->Get(AsBytes(key));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->has_value(), contents_.contains(key)) << key;
  }
  EXPECT_FALSE((*reader->Get(AsBytes("no such key"))).has_value());
}

// With both twins, with one, and with none of them.
TEST_F(SnapshotReaderTest, TwinsShareAnEntry) {
  const auto [first, second] = testing::TwinKeys();
  auto store = SnapshotStore::Open(testing::TestOptions(dir_));
  ASSERT_TRUE(store.ok()) << store.status();
  const Contents both = {{first, {1, false, {}, "one"}}, {second, {2, false, {}, "two"}}};
  const Contents one = {{second, {2, false, {}, "two"}}};
  const auto info = testing::MakeSnapshot(**store, nullptr, both);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->counts.entries, 1u);
  EXPECT_EQ(*testing::ReadAll(dir_, info->id), both);
  const auto next = testing::MakeSnapshot(**store, &both, one);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->changed, 1u);
  auto reader = SnapshotReader::Open(dir_, next->id, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_FALSE((*(*reader)->Get(AsBytes(first))).has_value());
  EXPECT_EQ((*(*reader)->Get(AsBytes(second)))->value, "two");
  const auto none = testing::MakeSnapshot(**store, &one, {});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->deleted, 1u);
  EXPECT_EQ(*testing::ReadAll(dir_, none->id), Contents());
}

TEST_F(SnapshotReaderTest, RangesAddUpInSeveralThreads) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  constexpr uint64_t kRanges = 8;
  std::vector<absl::StatusOr<SnapshotTotals>> totals(kRanges, SnapshotTotals());
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kRanges; ++i) {
    threads.emplace_back([&, i] {
      const uint64_t first = kSnapshotTagEnd / kRanges * i;
      const uint64_t end = kSnapshotTagEnd / kRanges * (i + 1);
      uint64_t last = 0;
      totals[i] =
          reader->ForEach(first, end, [&](uint64_t tag, const SnapshotRecord&) -> absl::Status {
            if (tag < first || tag >= end || tag < last) {
              return MakeStatus(absl::StatusCode::kInternal, "order");
            }
            last = tag;
            return absl::OkStatus();
          });
    });
  }
  for (std::thread& thread : threads) thread.join();
  SnapshotTotals sum;
  for (const auto& each : totals) {
    ASSERT_TRUE(each.ok()) << each.status();
    sum.Add(*each);
  }
  EXPECT_EQ(sum.records, contents_.size());
  EXPECT_TRUE(reader->CheckTotals(sum).ok());
  ++sum.records;
  EXPECT_TRUE(absl::IsDataLoss(reader->CheckTotals(sum)));
  EXPECT_EQ(
      reader->ForEach(10, 10, [](uint64_t, const SnapshotRecord&) { return absl::OkStatus(); })
          ->records,
      0u);
}

TEST_F(SnapshotReaderTest, TheCallbacksErrorEndsTheWalk) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  int calls = 0;
  const auto totals =
      reader->ForEach(0, kSnapshotTagEnd, [&](uint64_t, const SnapshotRecord&) -> absl::Status {
        if (++calls < 3) return absl::OkStatus();
        return MakeStatus(absl::StatusCode::kResourceExhausted, "no more room");
      });
  EXPECT_TRUE(absl::IsResourceExhausted(totals.status()));
  EXPECT_EQ(calls, 3);
}

TEST_F(SnapshotReaderTest, VerifyTellsHowFarItIs) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  uint64_t last = 0;
  uint64_t total = 0;
  const absl::Status status = reader->Verify([&](uint64_t done, uint64_t of) {
    EXPECT_GE(done, last);
    last = done;
    total = of;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 0u);
}

TEST_F(SnapshotReaderTest, ReadingChangesNothing) {
  const auto names = [&] {
    std::map<std::string, files::file_time_type> found;
    for (const auto& entry : files::recursive_directory_iterator(dir_)) {
      found[entry.path().string()] = files::last_write_time(entry);
    }
    return found;
  };
  const auto before = names();
  {
    const auto reader = Open();
    ASSERT_NE(reader, nullptr);
    EXPECT_TRUE(reader->Verify(nullptr).ok());
  }
  EXPECT_EQ(names(), before);
}

TEST_F(SnapshotReaderTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(SnapshotReader::Open(dir_, 3, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(SnapshotReader::Open(dir_ + "/no", 1, {}).status()));
}

// The writer is trusted with neither tags nor counts.
TEST_F(SnapshotReaderTest, AnEntryUnderAWrongTagIsDamage) {
  auto store = SnapshotStore::Open(testing::TestOptions(dir_));
  ASSERT_TRUE(store.ok()) << store.status();
  std::string entry;
  SnapshotRecord record;
  record.key = AsBytes("key");
  AppendRecord(record, &entry);
  ASSERT_TRUE((*store)->BeginPass(true).ok());
  ASSERT_TRUE((*store)->Put(12345, AsBytes(entry)).ok());
  SnapshotCounts counts;
  counts.entries = counts.records = 1;
  counts.bytes = 3;
  const auto info = (*store)->Commit(counts);
  ASSERT_TRUE(info.ok()) << info.status();
  const absl::Status status = testing::ReadAll(dir_, info->id).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

}  // namespace
}  // namespace dunlin
