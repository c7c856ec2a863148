#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "common/snapshot/directory_names.h"
#include "common/snapshot/snapshot_directory.h"
#include "common/snapshot/snapshot_store.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin {
namespace {

namespace files = std::filesystem;
using ::testing::HasSubstr;

void WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SnapshotDirectoryTest : public ::testing::Test {
 protected:
  SnapshotListing List() {
    auto listing = ListSnapshots(dir_);
    EXPECT_TRUE(listing.ok()) << listing.status();
    return listing.ok() ? *std::move(listing) : SnapshotListing();
  }
  absl::Status OpenStatus() { return SnapshotStore::Open(testing::TestOptions(dir_)).status(); }
  // With snapshots of the passes 1 to `count`, of ids 1 to `count`.
  void MakeSnapshots(uint64_t count) {
    auto store = SnapshotStore::Open(testing::TestOptions(dir_));
    ASSERT_TRUE(store.ok()) << store.status();
    testing::Contents before;
    for (uint64_t pass = 1; pass <= count; ++pass) {
      testing::Contents next = testing::ContentsOfPass(pass);
      const auto info = testing::MakeSnapshot(**store, pass == 1 ? nullptr : &before, next);
      ASSERT_TRUE(info.ok()) << info.status();
      EXPECT_EQ(info->id, pass);
      before = std::move(next);
    }
  }
  std::string Snapshot(uint64_t id) const { return Join(dir_, SnapshotName(id)); }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  const std::string dir_ = folder_.path() + "/snapshots";
};

TEST_F(SnapshotDirectoryTest, NamesComeBack) {
  for (const uint64_t id : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const std::string name = SnapshotName(id);
    const auto parts = ParseSnapshotName(name);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->id, id);
    EXPECT_EQ(parts->suffix, "");
    EXPECT_TRUE(IsLeftover(name + ".tmp"));
    EXPECT_TRUE(IsLeftover(name + ".deleted"));
    EXPECT_FALSE(IsLeftover(name));
    EXPECT_FALSE(IsLeftover(name + ".mine"));
  }
  for (const char* name : {"snapshot-", "snapshot-1", "snapshot-99999999999999999999", "snapshot",
                           "snapshot-0000000000000000000x"}) {
    EXPECT_FALSE(ParseSnapshotName(name)) << name;
  }
}

TEST_F(SnapshotDirectoryTest, FormatComesBackOrIsRefused) {
  const DirectoryFormat format{0xABCDEF, "0123456789abcdef"};
  const std::string line = EncodeFormat(format);
  EXPECT_EQ(line, "dunlin-snapshots 1 0000000000abcdef 0123456789abcdef\n");
  ASSERT_TRUE(ParseFormat(line).ok());
  EXPECT_EQ(*ParseFormat(line), format);
  for (size_t bytes = 0; bytes < line.size(); ++bytes) {
    EXPECT_TRUE(absl::IsDataLoss(ParseFormat(line.substr(0, bytes)).status())) << bytes;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseFormat(line + "\n").status()));
  std::string later = line;
  later[17] = '2';
  EXPECT_TRUE(absl::IsUnimplemented(ParseFormat(later).status()));
}

TEST_F(SnapshotDirectoryTest, AbsentEmptyAndForeignAreToldApart) {
  EXPECT_EQ(List().state, DirectoryState::kAbsent);
  files::create_directory(dir_);
  EXPECT_EQ(List().state, DirectoryState::kEmpty);
  WriteFile(dir_ + "/notes.txt", "mine");
  const SnapshotListing listing = List();
  EXPECT_EQ(listing.state, DirectoryState::kForeign);
  EXPECT_THAT(listing.why, HasSubstr("notes.txt"));

  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_FALSE(files::exists(dir_ + "/LOCK")) << "nothing is written to a foreign directory";
}

TEST_F(SnapshotDirectoryTest, ListsTheNewestFirst) {
  MakeSnapshots(3);
  const SnapshotListing listing = List();
  EXPECT_EQ(listing.state, DirectoryState::kGood);
  EXPECT_EQ(listing.hash_seed, testing::kTestSeed);
  ASSERT_EQ(listing.snapshots.size(), 3u);
  EXPECT_EQ(listing.snapshots[0].id, 3u);
  EXPECT_EQ(listing.snapshots[2].id, 1u);
  for (const ListedSnapshot& snapshot : listing.snapshots) {
    EXPECT_TRUE(snapshot.usable()) << snapshot.status;
    EXPECT_EQ(snapshot.info.counts, testing::CountsOf(testing::ContentsOfPass(snapshot.id)));
  }
  EXPECT_EQ(listing.NewestUsable()->id, 3u);
  EXPECT_EQ(listing.Find(2)->info.previous, 1u);
  EXPECT_EQ(listing.Find(4), nullptr);
}

TEST_F(SnapshotDirectoryTest, AStoreKeepsItsSeed) {
  MakeSnapshots(1);
  SnapshotStore::Options options = testing::TestOptions(dir_);
  options.new_hash_seed = 1;
  const auto store = SnapshotStore::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->hash_seed(), testing::kTestSeed);
}

TEST_F(SnapshotDirectoryTest, WithoutFormatItIsDamaged) {
  MakeSnapshots(1);
  const std::string format = ReadFile(dir_ + "/FORMAT");
  for (const std::string& found : {std::string(), format.substr(0, 20), std::string(5000, 'x')}) {
    WriteFile(dir_ + "/FORMAT", found);
    EXPECT_EQ(List().state, DirectoryState::kDamaged);
    EXPECT_TRUE(absl::IsDataLoss(OpenStatus()));
  }
  files::remove(dir_ + "/FORMAT");
  const SnapshotListing listing = List();
  EXPECT_EQ(listing.state, DirectoryState::kDamaged);
  EXPECT_EQ(listing.snapshots.size(), 1u);
  EXPECT_TRUE(absl::IsDataLoss(OpenStatus()));
  WriteFile(dir_ + "/FORMAT", format);
  EXPECT_TRUE(OpenStatus().ok());
}

TEST_F(SnapshotDirectoryTest, ATornManifestMakesItsSnapshotUnusable) {
  MakeSnapshots(2);
  const std::string path = Snapshot(2) + "/MANIFEST.dunlin";
  const std::string manifest = ReadFile(path);
  for (size_t bytes = 0; bytes < manifest.size(); ++bytes) {
    WriteFile(path, manifest.substr(0, bytes));
    const SnapshotListing listing = List();
    ASSERT_EQ(listing.snapshots.size(), 2u);
    EXPECT_TRUE(absl::IsDataLoss(listing.snapshots[0].status)) << bytes;
    EXPECT_EQ(listing.NewestUsable()->id, 1u);
  }
  WriteFile(path, ReadFile(Snapshot(1) + "/MANIFEST.dunlin"));
  EXPECT_THAT(List().snapshots[0].status.ToString(), HasSubstr("that of snapshot 1"));
  files::remove(path);
  EXPECT_THAT(List().snapshots[0].status.ToString(), HasSubstr("manifest is missing"));
  WriteFile(path, manifest);
  EXPECT_EQ(List().NewestUsable()->id, 2u);
}

TEST_F(SnapshotDirectoryTest, FilesThatAreMissingOrOfAnotherSizeMakeItUnusable) {
  MakeSnapshots(2);
  const SnapshotInfo info = List().snapshots[0].info;
  ASSERT_GE(info.files.size(), 3u);
  for (const SnapshotFile& file : info.files) {
    const std::string path = Snapshot(2) + "/db/" + file.name;
    files::rename(path, folder_.path() + "/away");
    EXPECT_THAT(List().snapshots[0].status.ToString(), HasSubstr(file.name + "' is missing"));
    WriteFile(path, ReadFile(folder_.path() + "/away") + "x");
    EXPECT_THAT(List().snapshots[0].status.ToString(), HasSubstr("the manifest says"));
    files::rename(folder_.path() + "/away", path);
    EXPECT_TRUE(List().snapshots[0].usable());
  }
  WriteFile(Snapshot(2) + "/db/extra", "");
  EXPECT_FALSE(List().snapshots[0].usable());
  EXPECT_TRUE(List().snapshots[1].usable());
  files::remove_all(Snapshot(2) + "/db");
  EXPECT_THAT(List().snapshots[0].status.ToString(), HasSubstr("'db' is missing"));
}

TEST_F(SnapshotDirectoryTest, ASnapshotOfAnotherDirectoryIsNotUsed) {
  MakeSnapshots(1);
  WriteFile(dir_ + "/FORMAT", EncodeFormat({testing::kTestSeed + 1, "0123456789abcdef"}));
  const SnapshotListing listing = List();
  ASSERT_EQ(listing.snapshots.size(), 1u);
  EXPECT_THAT(listing.snapshots[0].status.ToString(), HasSubstr("another directory"));
}

}  // namespace
}  // namespace dunlin
