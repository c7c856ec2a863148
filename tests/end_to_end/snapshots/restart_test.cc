#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"

// What is there after a server was killed, or stopped, and started again.

namespace dunlin::testing {
namespace {

using ::testing::HasSubstr;

class RestartTest : public SnapshotFixture {
 protected:
  // Some of everything: sizes, bytes, times to live, every way to write.
  Records Fill(int keys) {
    Records records;
    for (int i = 0; i < keys; ++i) {
      const std::string key = std::string("key\0\xff", 5) + std::to_string(i);
      PutOptions options;
      if (i % 5 == 0) options.ttl = Milliseconds(3'600'000 + 1000 * i);
      if (i % 7 == 0) options.mode = PutMode::kIfAbsent;
      Put(&records, key, std::string(static_cast<size_t>(i) * 37 % 5000, static_cast<char>(i)),
          options);
    }
    Put(&records, std::string(65'535, 'k'), "the longest key");
    Put(&records, "empty", "");
    const auto sum = session_->Add(AsBytes("counter"), 41, {.initial = 1});
    EXPECT_TRUE(sum.ok());
    records["counter"] = {"42", sum.version, {}, 0};
    return records;
  }
};

TEST_F(RestartTest, WhatASnapshotHoldsIsThereAfterKillNine) {
  StartOn();
  const Records before = Fill(2000);
  const SnapshotSummary made = Create();
  EXPECT_EQ(made.records, before.size());
  EXPECT_TRUE(made.full);
  Records after;
  for (int i = 0; i < 200; ++i) Put(&after, "late" + std::to_string(i), "late value");
  Crash();
  ExpectThere(before);
  const Records found = Scan();
  EXPECT_EQ(found.size(), before.size()) << "on demand means: nothing of what came later";
  const ServerSnapshots status = Snapshots();
  EXPECT_EQ(status.loaded_id, made.id);
  EXPECT_EQ(status.loaded_records, before.size());
  EXPECT_THAT(server_->Log(), HasSubstr("loading snapshot " + std::to_string(made.id)));
}

TEST_F(RestartTest, SeveralSnapshotsInARowAddUp) {
  StartOn();
  Records records = Fill(1000);
  Create();
  for (int i = 0; i < 1000; i += 3) Put(&records, "key again " + std::to_string(i), "new");
  Create();
  int gone = 0;
  for (auto at = records.begin(); at != records.end();) {
    if (++gone % 4 == 0) {
      ASSERT_TRUE(session_->Remove(at->first).ok());
      at = records.erase(at);
    } else {
      ++at;
    }
  }
  Put(&records, "empty", "no more");
  const SnapshotSummary last = Create();
  EXPECT_EQ(last.records, records.size());
  EXPECT_FALSE(last.full);
  EXPECT_GT(last.deleted, 0u);
  Crash();
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size()) << "and what was removed stays away";
  // And again, from a snapshot that builds on a loaded one.
  ASSERT_TRUE(session_->Remove("empty").ok());
  records.erase("empty");
  Put(&records, "one more", "yes");
  EXPECT_FALSE(Create().full);
  Crash();
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size());
}

TEST_F(RestartTest, AnOrderlyStopLosesNothing) {
  StartOn({"--snapshot-interval", "1h"});
  Records records = Fill(500);
  EXPECT_EQ(Stop(), 0) << server_->Log();
  StartOn();
  ExpectThere(records);
  Put(&records, "more", "of it");
  EXPECT_EQ(Stop(), 0);
  StartOn();
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size());
}

TEST_F(RestartTest, VersionsGoOn) {
  StartOn();
  Records records;
  Put(&records, "k", "v1");
  const uint64_t first = records["k"].version;
  Put(&records, "k", "v2");
  const uint64_t second = records["k"].version;
  Create();
  Crash();
  const std::string value = "v3";
  EXPECT_EQ(session_->CompareAndSet(AsBytes("k"), first, AsBytes(value)).outcome,
            Outcome::kVersionMismatch);
  const WriteResult third = session_->CompareAndSet(AsBytes("k"), second, AsBytes(value));
  ASSERT_TRUE(third.ok());
  EXPECT_NE(third.version, first);
  EXPECT_NE(third.version, second);
}

TEST_F(RestartTest, ATimeToLiveGoesOnWhileTheServerIsDown) {
  StartOn();
  Records records;
  Put(&records, "long", "v", {.ttl = Milliseconds(600'000)});
  Put(&records, "short", "v", {.ttl = Milliseconds(300)});
  const int64_t put = NowNanos();
  Create();
  Kill();
  while (NowNanos() < put + 400'000'000) {
    // sleeps to let a time to live pass
    std::this_thread::sleep_for(Milliseconds(10));
  }
  StartOn();
  EXPECT_EQ(session_->Get("short").status().code(), absl::StatusCode::kNotFound);
  records.erase("short");
  ExpectThere(records);
  EXPECT_EQ(Snapshots().expired_records, 1u);
}

TEST_F(RestartTest, AnEarlierSnapshotIfToldSo) {
  StartOn({"--snapshot-keep", "5"});
  Records first, second;
  Put(&first, "k", "first");
  const uint64_t earlier = Create().id;
  Put(&second, "k", "second");
  const uint64_t later = Create().id;
  Crash({"--snapshot-keep", "5", "--snapshot-id", std::to_string(earlier)});
  ExpectThere(first);
  EXPECT_EQ(Snapshots().loaded_id, earlier);
  // What is then made is newer than both.
  Put(&first, "more", "v");
  EXPECT_GT(Create().id, later);
  Crash();
  ExpectThere(first);
}

TEST_F(RestartTest, MemoryAndIndexOfOtherSizes) {
  StartOn({"--records", "20000"}, "64MiB");
  const Records records = Fill(3000);
  Create();
  Crash({"--records", "500"}, "32MiB");
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size());
  // The snapshot that follows is made of what lies elsewhere now.
  Create();
  Crash({"--records", "200000"}, "128MiB");
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size());
}

}  // namespace
}  // namespace dunlin::testing
