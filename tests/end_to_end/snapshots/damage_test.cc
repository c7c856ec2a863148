#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/end_to_end/server/server_run.h"
#include "tests/end_to_end/snapshots/snapshot_fixture.h"

// Starts on directories that are damaged, in use, or hold too much. Each refusal exits with 1 and
// says what to do.

namespace dunlin::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DamageTest : public SnapshotFixture {
 protected:
  static constexpr int kKeys = 500;

  // Two snapshots, all of whose records differ, so that they share no table with records; the
  // server is gone.
  void MakeTwo() {
    StartOn({"--snapshot-keep", "5"});
    for (int i = 0; i < kKeys; ++i) Put(&older_, "key" + std::to_string(i), "older");
    older_id_ = Create().id;
    for (int i = 0; i < kKeys; ++i) Put(&newer_, "key" + std::to_string(i), "newer");
    newer_id_ = Create().id;
    Kill();
  }

  void DamageTables(uint64_t id, uint64_t not_of = 0) {
    std::vector<std::string> names = FilesIn(SnapshotPath(id) + "/db", ".sst");
    for (const std::string& shared :
         not_of == 0 ? std::vector<std::string>() : FilesIn(SnapshotPath(not_of) + "/db", ".sst")) {
      std::erase(names, shared);
    }
    ASSERT_FALSE(names.empty());
    for (const std::string& name : names) FlipByte(SnapshotPath(id) + "/db/" + name);
  }

  // Runs a server on the directory that is expected to end by itself.
  ServerRun RunOn(const std::vector<std::string>& more = {}, const std::string& memory = "64MiB") {
    std::vector<std::string> arguments = Arguments(more);
    arguments.insert(arguments.end(),
                     {"--socket", disk_.path() + "/refused.sock", "--memory", memory});
    return RunServer({.arguments = std::move(arguments), .environment = {}});
  }

  void ExpectOlderLoaded(const std::string& why) {
    ExpectThere(older_);
    const ServerSnapshots status = Snapshots();
    EXPECT_EQ(status.loaded_id, older_id_);
    ASSERT_EQ(status.skipped.size(), 1u);
    EXPECT_THAT(status.skipped[0],
                AllOf(HasSubstr("snapshot " + std::to_string(newer_id_)), HasSubstr(why)));
    EXPECT_THAT(server_->Log(), AllOf(HasSubstr("ERROR"), HasSubstr(why)));
    const kvctl::KvctlResult shown = KvctlOnServer({"status"});
    EXPECT_THAT(shown.out, HasSubstr(why));
  }

  Records older_, newer_;
  uint64_t older_id_ = 0, newer_id_ = 0;
};

TEST_F(DamageTest, AFlippedByteInATableOfTheNewest) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  ASSERT_NO_FATAL_FAILURE(DamageTables(newer_id_, older_id_));
  StartOn({"--snapshot-keep", "5"});
  ExpectOlderLoaded("");
  // Going on, it makes snapshots that are newer than the damaged one, and good.
  EXPECT_GT(Create().id, newer_id_);
  Crash({"--snapshot-keep", "5"});
  ExpectThere(older_);
}

TEST_F(DamageTest, ATruncatedManifestOfTheNewest) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  const std::string manifest = SnapshotPath(newer_id_) + "/MANIFEST.dunlin";
  std::filesystem::resize_file(manifest, std::filesystem::file_size(manifest) / 2);
  StartOn({"--snapshot-keep", "5"});
  ExpectOlderLoaded("manifest");
}

TEST_F(DamageTest, AMissingTableOfTheNewest) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  const std::string table = FilesIn(SnapshotPath(newer_id_) + "/db", ".sst").back();
  std::filesystem::remove(SnapshotPath(newer_id_) + "/db/" + table);
  StartOn({"--snapshot-keep", "5"});
  ExpectOlderLoaded(table);
}

TEST_F(DamageTest, AllDamagedIsRefusedUntilToldToStartEmpty) {
  ASSERT_NO_FATAL_FAILURE(MakeTwo());
  // The older one's table is the newer one's, too.
  ASSERT_NO_FATAL_FAILURE(DamageTables(older_id_));
  const ServerRun refused = RunOn();
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("none of them can be used"),
                    HasSubstr("snapshot " + std::to_string(newer_id_)),
                    HasSubstr("snapshot " + std::to_string(older_id_)), HasSubstr("start-empty")));
  EXPECT_EQ(RunOn({"--snapshot-id", std::to_string(older_id_)}).code, 1);

  StartOn({"--start-empty", "--snapshot-keep", "5"});
  EXPECT_TRUE(Scan().empty());
  Records fresh;
  Put(&fresh, "k", "v");
  EXPECT_GT(Create().id, newer_id_);
  Crash({"--snapshot-keep", "5"});
  ExpectThere(fresh);
  EXPECT_EQ(Scan().size(), 1u);
}

TEST_F(DamageTest, ASecondServerOnADirectoryIsRefused) {
  StartOn();
  Records records;
  Put(&records, "k", "v");
  const ServerRun refused = RunOn();
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("in use"), HasSubstr(std::to_string(server_->pid())),
                                    HasSubstr("stop that server")));
  Create();
  ExpectThere(records);
}

TEST_F(DamageTest, TooLittleMemoryIsRefusedAndNothingIsLost) {
  StartOn({}, "64MiB");
  Records records;
  for (int i = 0; i < 1500; ++i) {
    Put(&records, "key" + std::to_string(i), std::string(20'000, 'x'));
  }
  Create();
  Kill();
  const ServerRun refused = RunOn({"--records", "2000"}, "24MiB");
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("does not fit"), HasSubstr("1,500"), HasSubstr("raise memory")));
  StartOn({}, "64MiB");
  ExpectThere(records);
}

TEST_F(DamageTest, WhatIsNotThereIsNamed) {
  StartOn();
  Create();
  Kill();
  const ServerRun wrong_id = RunOn({"--snapshot-id", "77"});
  EXPECT_EQ(wrong_id.code, 1) << wrong_id.output;
  EXPECT_THAT(wrong_id.output, HasSubstr("there is no snapshot 77"));
  kvctl::WriteFile(disk_.path() + "/a file", "somebody else's");
  const ServerRun foreign =
      RunServer({.arguments = {"--snapshot-dir", disk_.path(), "--socket",
                               disk_.path() + "/refused.sock", "--memory", "64MiB"},
                 .environment = {}});
  EXPECT_EQ(foreign.code, 1) << foreign.output;
  EXPECT_THAT(foreign.output, HasSubstr("no snapshot directory"));
}

}  // namespace
}  // namespace dunlin::testing
