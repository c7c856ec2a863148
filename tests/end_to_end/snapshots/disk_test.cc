#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"

// A disk that takes nothing more: the store serves on and says so, and when it is well again
// snapshots are made again, by themselves.

namespace dunlin::testing {
namespace {

using ::testing::HasSubstr;

class DiskTest : public SnapshotFixture {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(dir());
    if (geteuid() != 0) {
      GTEST_SKIP() << "only root can mount a small disk";
    }
    mounted_ = mount("tmpfs", dir().c_str(), "tmpfs", 0, "size=12m") == 0;
    if (!mounted_) GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  void TearDown() override {
    Kill();
    if (mounted_) umount2(dir().c_str(), MNT_DETACH);
  }

  // In the root of the disk, where foreign files of an existing snapshot directory are let alone.
  std::string filler() const { return dir() + "/filler"; }
  void FillDisk() {
    std::ofstream file(filler(), std::ios::binary);
    const std::string block(4096, 'f');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

  void ExpectTrouble() {
    const auto failed = client_->CreateSnapshot(Milliseconds(30'000));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted) << failed.status();
    const kvctl::KvctlResult told = KvctlOnServer({"snapshot", "create"});
    EXPECT_EQ(told.exit, 7) << told.err;
    const ServerSnapshots status = Snapshots();
    EXPECT_GE(status.failed, 2u);
    EXPECT_THAT(status.trouble, HasSubstr("No space left"));
    EXPECT_THAT(server_->Log(), HasSubstr("a snapshot failed"));
  }

  bool mounted_ = false;
};

TEST_F(DiskTest, FullAndEmptyAgain) {
  StartOn();
  Records records;
  for (int i = 0; i < 300; ++i) Put(&records, "key" + std::to_string(i), std::string(1000, 'a'));
  const uint64_t good = Create().id;
  FillDisk();
  Records later;
  for (int i = 0; i < 300; ++i) Put(&later, "key" + std::to_string(i), std::string(1000, 'b'));
  ExpectTrouble();
  ExpectThere(later);
  // A crash now: what the last good one holds.
  Crash();
  ExpectThere(records);
  EXPECT_EQ(Snapshots().loaded_id, good);

  for (int i = 0; i < 300; ++i) Put(&later, "key" + std::to_string(i), std::string(1000, 'c'));
  std::filesystem::remove(filler());
  Create();
  EXPECT_EQ(Snapshots().trouble, "");
  Crash();
  ExpectThere(later);
}

TEST_F(DiskTest, AnIntervalTriesAgainByItself) {
  StartOn({"--snapshot-interval", "100ms"});
  Records records;
  Put(&records, "first", "v");
  Create();
  FillDisk();
  for (int i = 0; i < 100; ++i) Put(&records, "key" + std::to_string(i), std::string(1000, 'a'));
  ServerSnapshots status;
  const int64_t give_up = NowNanos() + 30'000'000'000;
  do {
    status = Snapshots();
  } while (status.trouble.empty() && NowNanos() < give_up);
  EXPECT_THAT(status.trouble, HasSubstr("No space left"));
  std::filesystem::remove(filler());
  do {
    status = Snapshots();
  } while (!status.trouble.empty() && NowNanos() < give_up);
  EXPECT_EQ(status.trouble, "");
  Create();
  EXPECT_THAT(server_->Log(), HasSubstr("snapshots succeed again"));
  Crash();
  ExpectThere(records);
}

TEST_F(DiskTest, AFailedStopSaysSo) {
  StartOn();
  Records records;
  Put(&records, "k", "v");
  Create();
  FillDisk();
  for (int i = 0; i < 100; ++i) Put(&records, "key" + std::to_string(i), std::string(1000, 'a'));
  EXPECT_EQ(Stop(), 1);
  EXPECT_THAT(server_->Log(), HasSubstr("the last snapshot failed"));
}

class ReadOnlyTest : public SnapshotFixture {};

TEST_F(ReadOnlyTest, ADirectoryThatMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  StartOn();
  Records records;
  Put(&records, "k", "v");
  Create();
  Put(&records, "k", "w");
  ASSERT_EQ(chmod(dir().c_str(), 0500), 0);
  EXPECT_FALSE(client_->CreateSnapshot(Milliseconds(30'000)).ok());
  EXPECT_NE(Snapshots().trouble, "");
  ExpectThere(records);
  ASSERT_EQ(chmod(dir().c_str(), 0700), 0);
  Create();
  Crash();
  ExpectThere(records);
}

}  // namespace
}  // namespace dunlin::testing
