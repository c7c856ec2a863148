// Snapshots whose files were changed behind our back: that is always noticed, and never brings a
// wrong value.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/snapshot_reader.h"
#include "common/snapshot/snapshot_store.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin {
namespace {

namespace files = std::filesystem;
using testing::Contents;
using testing::ContentsOfPass;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In place, so that what shares the file sees it.
void WriteByte(const std::string& path, size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

class SnapshotDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = SnapshotStore::Open(testing::TestOptions(dir_));
    ASSERT_TRUE(store.ok()) << store.status();
    Contents before;
    for (uint64_t pass = 1; pass <= 3; ++pass) {
      Contents next = ContentsOfPass(pass);
      ASSERT_TRUE(testing::MakeSnapshot(**store, pass == 1 ? nullptr : &before, next).ok());
      before = std::move(next);
    }
  }
  std::string Path(uint64_t id) const { return Join(dir_, SnapshotName(id)); }
  std::vector<std::string> FilesOf(uint64_t id) const {
    std::vector<std::string> paths = {Path(id) + "/MANIFEST.dunlin"};
    for (const auto& entry : files::directory_iterator(Path(id) + "/db")) {
      paths.push_back(entry.path().string());
    }
    return paths;
  }

  // True if it can be read, and then it is right.
  bool ReadsRight(uint64_t id) {
    const Contents expected = ContentsOfPass(id);
    const auto contents = testing::ReadAll(dir_, id);
    EXPECT_TRUE(!contents.ok() || *contents == expected) << "a wrong value of snapshot " << id;
    const auto reader = SnapshotReader::Open(dir_, id, {});
    if (reader.ok()) {
      for (const auto& [key, record] : expected) {
        const auto found = (*reader)->Get(AsBytes(key));
        EXPECT_TRUE(!found.ok() || (found->has_value() && (*found)->value == record.value)) << key;
      }
    }
    return contents.ok();
  }
  bool Verifies(uint64_t id) {
    const auto reader = SnapshotReader::Open(dir_, id, {});
    return reader.ok() && (*reader)->Verify(nullptr).ok();
  }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  const std::string dir_ = folder_.path() + "/snapshots";
};

TEST_F(SnapshotDamageTest, AFlippedByteAnywhereIsNoticed) {
  const uint64_t rounds = testing::NumberFromEnvironment("TEST_ROUNDS", 40);
  std::set<files::path> shared;
  for (const std::string& path : FilesOf(2)) {
    if (path.ends_with(".sst")) shared.insert(files::path(path).filename());
  }
  Random random(testing::NumberFromEnvironment("TEST_SEED", 1));
  for (const std::string& path : FilesOf(3)) {
    const std::string contents = ReadFile(path);
    const uint64_t places = std::min<uint64_t>(rounds, contents.size());
    for (uint64_t i = 0; i < places; ++i) {
      // All of them if there are rounds enough, the very first and last in any case.
      size_t at = places == contents.size() ? i : random.Below(contents.size());
      if (i == 0) at = 0;
      if (i == 1) at = contents.size() - 1;
      SCOPED_TRACE(path + ", byte " + std::to_string(at));
      WriteByte(path, at, static_cast<char>(contents[at] ^ (1 + random.Below(255))));
      EXPECT_FALSE(Verifies(3));
      ReadsRight(3);
      // What is shared is damaged there, too.
      ReadsRight(1);
      ReadsRight(2);
      if (!shared.contains(files::path(path).filename())) {
        EXPECT_TRUE(Verifies(2));
      }
      WriteByte(path, at, contents[at]);
      if (HasFailure()) return;
    }
  }
  EXPECT_TRUE(Verifies(3));
}

TEST_F(SnapshotDamageTest, AFileThatIsMissingOrCutIsNoticed) {
  for (const std::string& path : FilesOf(3)) {
    SCOPED_TRACE(path);
    const std::string away = folder_.path() + "/away";
    files::rename(path, away);
    EXPECT_TRUE(absl::IsDataLoss(SnapshotReader::Open(dir_, 3, {}).status()));
    files::copy_file(away, path);
    EXPECT_TRUE(Verifies(3));
    for (const uint64_t bytes :
         {uint64_t{0}, files::file_size(away) / 2, files::file_size(away) - 1}) {
      files::resize_file(path, bytes);
      EXPECT_TRUE(absl::IsDataLoss(SnapshotReader::Open(dir_, 3, {}).status())) << bytes;
    }
    files::rename(away, path);
    EXPECT_TRUE(Verifies(3));
  }
  EXPECT_TRUE(Verifies(2) && Verifies(1));
}

// Whole files, but of another snapshot.
TEST_F(SnapshotDamageTest, ADatabaseOfAnotherSnapshotIsNoticed) {
  files::rename(Path(3) + "/db", folder_.path() + "/db");
  files::copy(Path(2) + "/db", Path(3) + "/db");
  EXPECT_TRUE(absl::IsDataLoss(SnapshotReader::Open(dir_, 3, {}).status()));
  files::remove_all(Path(3) + "/db");
  files::rename(folder_.path() + "/db", Path(3) + "/db");
  EXPECT_TRUE(Verifies(3));
}

TEST_F(SnapshotDamageTest, ABaseThatIsDamagedIsSaidToBe) {
  const auto paths = FilesOf(3);
  auto store = SnapshotStore::Open(testing::TestOptions(dir_));
  ASSERT_TRUE(store.ok()) << store.status();
  for (const std::string& path : paths) {
    const std::string away = folder_.path() + "/away";
    files::rename(path, away);
    EXPECT_TRUE(absl::IsDataLoss((*store)->StartFrom(3))) << path;
    files::rename(away, path);
  }
  ASSERT_TRUE((*store)->StartFrom(3).ok());
}

// Damage of the base stays where it is: a full pass makes a snapshot that is whole.
TEST_F(SnapshotDamageTest, AFullPassLeavesDamageBehind) {
  for (const std::string& path : FilesOf(3)) {
    if (!path.ends_with(".sst")) continue;
    const std::string contents = ReadFile(path);
    WriteByte(path, contents.size() / 2, static_cast<char>(contents[contents.size() / 2] ^ 1));
  }
  EXPECT_FALSE(Verifies(3));
  auto store = SnapshotStore::Open(testing::TestOptions(dir_));
  ASSERT_TRUE(store.ok()) << store.status();
  const auto info = testing::MakeSnapshot(**store, nullptr, ContentsOfPass(4));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(Verifies(info->id));
  EXPECT_EQ(*testing::ReadAll(dir_, info->id), ContentsOfPass(4));
}

}  // namespace
}  // namespace dunlin
