#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"

// `kvctl snapshot ... --dir`: a directory by itself, with and without a server that writes there.

namespace dunlin::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class DirectoryTest : public SnapshotFixture {
 protected:
  // Snapshot 1: a and b; 2: a changed, b removed, c with a time to live. A server is there.
  void MakeTwo() {
    StartOn({"--snapshot-keep", "5"});
    Records records;
    Put(&records, "a", "one");
    Put(&records, "b", "two");
    Create();
    Put(&records, "a", "three");
    ASSERT_TRUE(session_->Remove("b").ok());
    Put(&records, "c", "with a time", {.ttl = Milliseconds(3'600'000)});
    Put(&records, "short", "gone soon", {.ttl = Milliseconds(1)});
    version_ = records["a"].version;
    Create();
  }

  kvctl::KvctlResult Snapshot(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "snapshot");
    arguments.insert(arguments.end(), {"--dir", dir()});
    return Kvctl(arguments);
  }

  // A table that has records of snapshot 2 alone.
  std::string TableOfTwo() {
    std::vector<std::string> names = FilesIn(SnapshotPath(2) + "/db", ".sst");
    for (const std::string& shared : FilesIn(SnapshotPath(1) + "/db", ".sst")) {
      std::erase(names, shared);
    }
    EXPECT_FALSE(names.empty());
    return names.empty() ? "" : SnapshotPath(2) + "/db/" + names.back();
  }

  uint64_t version_ = 0;
};

TEST_F(DirectoryTest, ReadingBesideARunningServer) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  const kvctl::KvctlResult list = Snapshot({"list"});
  EXPECT_EQ(list.exit, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(ContainsRegex("2 +usable"), ContainsRegex("1 +usable")));
  const kvctl::KvctlResult verify = Snapshot({"verify", "--progress", "always"});
  EXPECT_EQ(verify.exit, 0) << verify.err;
  EXPECT_THAT(verify.out, AllOf(ContainsRegex("good +2\n"), ContainsRegex("damaged +0\n")));
  EXPECT_THAT(verify.err, HasSubstr("snapshot 2"));

  EXPECT_EQ(Snapshot({"get", "a", "--raw"}).out, "three");
  EXPECT_EQ(Snapshot({"get", "a", "--raw", "--id", "1"}).out, "one");
  const kvctl::KvctlResult json = Snapshot({"get", "a", "-o", "json"});
  EXPECT_EQ(json.out, "{\"key\":\"a\",\"value\":\"three\",\"version\":\"" +
                          std::to_string(version_) + "\",\"ttl_ms\":null,\"snapshot\":2}\n");
  EXPECT_THAT(Snapshot({"get", "c"}).out, ContainsRegex("ttl +3[56][0-9][0-9] s"));
  EXPECT_EQ(Snapshot({"get", "b"}).exit, 3);
  EXPECT_EQ(Snapshot({"get", "b", "--id", "1"}).exit, 0);
  EXPECT_EQ(Snapshot({"get", "a", "--id", "9"}).exit, 3);
  EXPECT_THAT(Snapshot({"get", "a", "--id", "9"}).err, HasSubstr("there are 2, 1"));
}

TEST_F(DirectoryTest, Export) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  const kvctl::KvctlResult first = Snapshot({"export", "--id", "1", "--sorted"});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(first.out, "{\"key\":\"a\",\"value\":\"one\"}\n{\"key\":\"b\",\"value\":\"two\"}\n");
  const kvctl::KvctlResult second = Snapshot({"export", "--sorted"});
  EXPECT_THAT(
      second.out,
      ContainsRegex("^\\{\"key\":\"a\",\"value\":\"three\"\\}\n"
                    "\\{\"key\":\"c\",\"value\":\"with a time\",\"ttl_ms\":3[56][0-9]+\\}\n$"));
  EXPECT_THAT(second.err, AllOf(ContainsRegex("written +2\n"), ContainsRegex("snapshot +2\n")));
  const kvctl::KvctlResult lines = Snapshot({"export", "--format", "lines", "--prefix", "a"});
  EXPECT_EQ(lines.out, "a\tthree\n");

  // A file, and back into a store.
  const std::string file = disk_.path() + "/export";
  EXPECT_EQ(Snapshot({"export", file, "--id", "1"}).exit, 0);
  StartStore();
  EXPECT_EQ(KvctlOnServer({"import", file}).exit, 0);
  EXPECT_EQ(KvctlOnServer({"get", "b", "--raw"}).out, "two");

  kvctl::WriteFile(disk_.path() + "/keys", "c\t\na\t\nnone\t\n");
  const kvctl::KvctlResult some =
      Snapshot({"export", "--format", "lines", "--keys-from", disk_.path() + "/keys"});
  EXPECT_EQ(some.exit, 10);
  EXPECT_EQ(some.out, "c\twith a time\na\tthree\n");
  EXPECT_THAT(some.err, HasSubstr("\"none\""));
}

TEST_F(DirectoryTest, DamageIsFoundAndNamed) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  Kill();
  FlipByte(TableOfTwo());
  const kvctl::KvctlResult verify = Snapshot({"verify"});
  EXPECT_EQ(verify.exit, 8) << verify.out;
  EXPECT_THAT(verify.out,
              AllOf(ContainsRegex("2 +damaged"), ContainsRegex("1 +good"), HasSubstr("checksum")));
  EXPECT_EQ(Snapshot({"verify", "1"}).exit, 0);
  EXPECT_EQ(Snapshot({"verify", "2"}).exit, 8);

  // Seen without reading it all.
  std::filesystem::resize_file(SnapshotPath(2) + "/MANIFEST.dunlin", 40);
  const kvctl::KvctlResult list = Snapshot({"list"});
  EXPECT_EQ(list.exit, 0);
  EXPECT_THAT(list.out,
              AllOf(ContainsRegex("2 +damaged"), HasSubstr("TROUBLE"), ContainsRegex("1 +usable")));
  // Then the one before counts, and that is said.
  const kvctl::KvctlResult get = Snapshot({"get", "a", "--raw"});
  EXPECT_EQ(get.out, "one");
  EXPECT_THAT(get.err, HasSubstr("passed over snapshot 2"));
  EXPECT_EQ(Snapshot({"get", "a", "--id", "2"}).exit, 8);
}

TEST_F(DirectoryTest, DamageInTheMidstOfReadingEndsIt) {
  StartOn();
  Records records;
  for (int i = 0; i < 300; ++i) Put(&records, "key" + std::to_string(i), std::string(2000, 'v'));
  Create();
  FlipByte(SnapshotPath(1) + "/db/" + FilesIn(SnapshotPath(1) + "/db", ".sst").front());
  const std::string file = disk_.path() + "/export";
  const kvctl::KvctlResult exported = Snapshot({"export", file});
  EXPECT_EQ(exported.exit, 8) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("kvctl snapshot verify"));
  EXPECT_FALSE(std::filesystem::exists(file)) << "no half of an export";
  const std::string old_dir = dir();
  StartStore();
  const kvctl::KvctlResult restored =
      KvctlOnServer({"snapshot", "restore", "--dir", old_dir, "-o", "json"});
  EXPECT_EQ(restored.exit, 8) << restored.err;
  EXPECT_THAT(restored.out, AllOf(HasSubstr("\"code\":\"DATA_LOSS\""), HasSubstr("stopped after")));
}

TEST_F(DirectoryTest, DeleteNeedsTheDirectoryToItself) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  const kvctl::KvctlResult in_use = Snapshot({"delete", "1"});
  EXPECT_EQ(in_use.exit, 4);
  EXPECT_THAT(in_use.err, HasSubstr("in use"));
  Kill();
  EXPECT_EQ(Snapshot({"delete", "2"}).exit, 4) << "the newest";
  EXPECT_EQ(Snapshot({"delete", "3"}).exit, 3);
  EXPECT_EQ(Snapshot({"delete", "1"}).exit, 0);
  EXPECT_EQ(Snapshot({"get", "a", "--id", "1"}).exit, 3);
  EXPECT_EQ(Snapshot({"get", "a", "--raw"}).out, "three");
}

TEST_F(DirectoryTest, WhatIsNoSnapshotDirectory) {
  EXPECT_EQ(Snapshot({"list"}).exit, 3) << "there is none yet";
  EXPECT_EQ(Snapshot({"delete", "1"}).exit, 3);
  EXPECT_FALSE(std::filesystem::exists(dir())) << "and looking makes none";
  std::filesystem::create_directory(dir());
  EXPECT_EQ(Snapshot({"list"}).exit, 0);
  EXPECT_EQ(Snapshot({"get", "a"}).exit, 3);
  kvctl::WriteFile(dir() + "/letter", "somebody's");
  const kvctl::KvctlResult foreign = Snapshot({"list"});
  EXPECT_EQ(foreign.exit, 2);
  EXPECT_THAT(foreign.err, AllOf(HasSubstr("no snapshot directory"), HasSubstr("letter")));
  EXPECT_EQ(Kvctl({"snapshot", "verify"}).exit, 2) << "--dir is required";
}

// Snapshots that come and go all the time: each reading is right, or says that its snapshot went.
TEST_F(DirectoryTest, ReadingWhatIsBeingDeleted) {
  StartOn({"--snapshot-interval", "100ms", "--snapshot-keep", "1"});
  Records records;
  Put(&records, "fixed", "value");
  Create();
  std::atomic<bool> done = false;
  std::thread writer([&] {
    auto session = Open();
    for (int i = 0; !done; ++i) {
      const auto put = session->Put("key" + std::to_string(i % 2000), std::string(500, 'v'));
      EXPECT_TRUE(put.ok() || absl::IsResourceExhausted(put.status())) << put.status();
    }
  });
  int right = 0;
  for (int i = 0; i < 20; ++i) {
    const kvctl::KvctlResult get = Snapshot({"get", "fixed", "--raw"});
    if (get.exit == 0) {
      EXPECT_EQ(get.out, "value");
      ++right;
    } else {
      EXPECT_THAT(get.err, AllOf(HasSubstr("delete"), HasSubstr("snapshot-keep")));
    }
    const kvctl::KvctlResult verify = Snapshot({"verify"});
    EXPECT_EQ(verify.exit, 0) << verify.out << verify.err;
  }
  done = true;
  writer.join();
  EXPECT_GT(right, 3);
}

}  // namespace
}  // namespace dunlin::testing
