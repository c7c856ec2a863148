#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ReadAll;

class SnapshotStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open(std::optional<SnapshotStore::Options> options = std::nullopt) {
    store_.reset();
    auto store = SnapshotStore::Open(options ? *options : testing::TestOptions(dir_));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  // On top of what the last call made.
  uint64_t Make(uint64_t pass, bool full = false) {
    Contents next = ContentsOfPass(pass);
    const auto info = testing::MakeSnapshot(*store_, full || !base_ ? nullptr : &*base_, next);
    EXPECT_TRUE(info.ok()) << info.status();
    if (info.ok()) base_ = std::move(next);
    return info.ok() ? info->id : 0;
  }
  std::vector<uint64_t> Ids() {
    std::vector<uint64_t> ids;
    const auto listing = store_->List();
    EXPECT_TRUE(listing.ok()) << listing.status();
    for (const ListedSnapshot& snapshot : listing->snapshots) ids.push_back(snapshot.id);
    return ids;
  }
  void ExpectContents(uint64_t id, uint64_t pass) {
    const auto contents = ReadAll(dir_, id);
    ASSERT_TRUE(contents.ok()) << contents.status();
    EXPECT_EQ(*contents, ContentsOfPass(pass));
  }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  const std::string dir_ = folder_.path() + "/snapshots";
  std::unique_ptr<SnapshotStore> store_;
  std::optional<Contents> base_;
};

TEST_F(SnapshotStoreTest, EachSnapshotIsWhatItsPassSaw) {
  for (uint64_t pass = 1; pass <= 30; ++pass) EXPECT_EQ(Make(pass), pass);
  for (uint64_t pass = 1; pass <= 30; ++pass) ExpectContents(pass, pass);
}

TEST_F(SnapshotStoreTest, TheManifestSaysWhatThePassDid) {
  Make(1);
  const Contents before = ContentsOfPass(1);
  Contents next = before;
  next.erase(next.begin());
  next["new"] = {1'000'000, false, std::nullopt, "value"};
  const auto info = testing::MakeSnapshot(*store_, &before, next);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->previous, 1u);
  EXPECT_FALSE(info->full);
  EXPECT_EQ(info->changed, 1u);
  EXPECT_EQ(info->deleted, 1u);
  EXPECT_EQ(info->counts, testing::CountsOf(next));
  EXPECT_EQ(info->hash_seed, testing::kTestSeed);
  EXPECT_EQ(info->layout_version, kLayoutVersion);
  EXPECT_EQ(store_->List()->snapshots[0].info, *info);
}

TEST_F(SnapshotStoreTest, APassWithoutChangesMakesASnapshotOfTheSameTables) {
  Make(1);
  const Contents same = ContentsOfPass(1);
  const auto info = testing::MakeSnapshot(*store_, &same, same);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->changed + info->deleted, 0u);
  ExpectContents(info->id, 1);
}

TEST_F(SnapshotStoreTest, NothingAtAllIsASnapshotToo) {
  ASSERT_TRUE(store_->StartFrom(std::nullopt).ok());
  ASSERT_TRUE(store_->BeginPass(false).ok());
  const auto info = store_->Commit({});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->full);
  EXPECT_EQ(*ReadAll(dir_, info->id), Contents());
}

TEST_F(SnapshotStoreTest, GoesOnFromAnySnapshotAfterAReopen) {
  Make(1);
  Make(2);
  Make(3);
  Open();
  const Contents base = ContentsOfPass(2);
  ASSERT_TRUE(store_->StartFrom(2).ok());
  const auto info = testing::MakeSnapshot(*store_, &base, ContentsOfPass(7));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->id, 4u);
  EXPECT_EQ(info->previous, 2u);
  ExpectContents(4, 7);
  ExpectContents(3, 3);
}

TEST_F(SnapshotStoreTest, AFullPassReplacesEverything) {
  Make(1);
  Make(2);
  EXPECT_EQ(Make(9, /*full=*/true), 3u);
  ExpectContents(3, 9);
  EXPECT_EQ(Make(10), 4u);
  ExpectContents(4, 10);
  ExpectContents(2, 2);
}

TEST_F(SnapshotStoreTest, AnAbortedPassLeavesItsBase) {
  Make(1);
  const Contents base = ContentsOfPass(1);
  ASSERT_TRUE(testing::WritePass(*store_, &base, ContentsOfPass(2)).ok());
  store_->Abort();
  ASSERT_TRUE(testing::WritePass(*store_, nullptr, ContentsOfPass(3)).ok());
  EXPECT_EQ(Make(4), 2u);
  ExpectContents(2, 4);
}

TEST_F(SnapshotStoreTest, TagsHaveToIncrease) {
  const std::string entry = "entry";
  ASSERT_TRUE(store_->BeginPass(true).ok());
  ASSERT_TRUE(store_->Put(5, AsBytes(entry)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(5, AsBytes(entry))));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(6, AsBytes(entry)))) << "the pass has failed";
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Commit({}).status()));
  ASSERT_TRUE(store_->BeginPass(true).ok());
  ASSERT_TRUE(store_->Delete(5).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Delete(4)));
  ASSERT_TRUE(store_->BeginPass(true).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(kSnapshotTagEnd, AsBytes(entry))));
  ASSERT_TRUE(store_->BeginPass(true).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(0, {})));
  EXPECT_THAT(Ids(), ElementsAre());
}

TEST_F(SnapshotStoreTest, CallsOutOfTurnAreRefused) {
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->BeginPass(false)));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Put(1, AsBytes("x"))));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Delete(1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Commit({}).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->StartFrom(1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->BeginPass(false)));
  store_->Abort();
  EXPECT_EQ(Make(1), 1u);
}

TEST_F(SnapshotStoreTest, RetainsTheNewest) {
  for (uint64_t pass = 1; pass <= 5; ++pass) Make(pass);
  ASSERT_TRUE(store_->Retain().ok());
  EXPECT_THAT(Ids(), ElementsAre(5, 4));
  files::remove(Join(Join(dir_, SnapshotName(4)), "MANIFEST.dunlin"));
  Make(6);
  Make(7);
  Make(8);
  ASSERT_TRUE(store_->Retain().ok());
  EXPECT_THAT(Ids(), ElementsAre(8, 7));
  files::remove(Join(Join(dir_, SnapshotName(8)), "MANIFEST.dunlin"));
  ASSERT_TRUE(store_->Retain().ok());
  EXPECT_THAT(Ids(), ElementsAre(8, 7)) << "a damaged one doesn't count, and stays to be seen";
  ExpectContents(7, 7);
}

TEST_F(SnapshotStoreTest, DeletesAnyButTheNewestAndTheBase) {
  for (uint64_t pass = 1; pass <= 4; ++pass) Make(pass);
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->DeleteSnapshot(4)));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteSnapshot(5)));
  ASSERT_TRUE(store_->StartFrom(2).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->DeleteSnapshot(2)));
  EXPECT_TRUE(store_->DeleteSnapshot(3).ok());
  EXPECT_THAT(Ids(), ElementsAre(4, 2, 1));
  ExpectContents(4, 4);
  Open();
  ASSERT_TRUE(store_->StartFrom(4).ok());
  EXPECT_EQ(Make(5), 5u) << "numbers are not used twice";
}

TEST_F(SnapshotStoreTest, RemovesWhatACrashLeavesBehind) {
  Make(1);
  store_.reset();
  for (const char* name : {"live", "pass", "snapshot-00000000000000000009.tmp",
                           "snapshot-00000000000000000003.deleted"}) {
    files::create_directories(Join(dir_, name) + "/db");
  }
  std::vector<std::string> said;
  SnapshotStore::Options options = testing::TestOptions(dir_);
  options.warn = [&](std::string_view text) { said.emplace_back(text); };
  Open(options);
  EXPECT_EQ(said.size(), 3u) << "all but live, which is always there";
  EXPECT_FALSE(files::exists(dir_ + "/live"));
  EXPECT_FALSE(files::exists(dir_ + "/pass"));
  ASSERT_TRUE(store_->StartFrom(1).ok());
  EXPECT_EQ(Make(2), 10u) << "its number may have been seen";
}

TEST_F(SnapshotStoreTest, ASecondStoreIsToldWhoHasTheDirectory) {
  const auto second = SnapshotStore::Open(testing::TestOptions(dir_));
  ASSERT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(second.status().ToString(), HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_EQ(Make(1), 1u);
  store_.reset();
  Open();
}

TEST_F(SnapshotStoreTest, TheParentHasToExist) {
  const auto store = SnapshotStore::Open(testing::TestOptions(folder_.path() + "/a/b"));
  EXPECT_TRUE(absl::IsNotFound(store.status())) << store.status();
}

TEST_F(SnapshotStoreTest, OptionsThatCannotBeAreRefused) {
  SnapshotStore::Options options = testing::TestOptions(folder_.path() + "/other");
  options.merge_bytes_per_second = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(SnapshotStore::Open(options).status()));
  options = testing::TestOptions(folder_.path() + "/other");
  options.release = "two\nlines";
  EXPECT_TRUE(absl::IsInvalidArgument(SnapshotStore::Open(options).status()));
  EXPECT_FALSE(files::exists(options.dir));
}

// What has been merged away must neither come back nor take anything along.
TEST_F(SnapshotStoreTest, StaysRightWhileTablesAreMerged) {
  SnapshotStore::Options options = testing::TestOptions(dir_);
  options.table_bytes = 4 << 10;
  options.retain = 3;
  Open(options);
  for (uint64_t pass = 1; pass <= 120; ++pass) {
    const uint64_t id = Make(pass);
    ASSERT_NE(id, 0u);
    if (pass % 7 == 0) ExpectContents(id, pass);
    ASSERT_TRUE(store_->Retain().ok());
  }
  EXPECT_EQ(testing::WhatIsWrong(dir_, 120), "");
  // Far fewer tables than passes have written.
  EXPECT_LT(store_->List()->snapshots[0].info.files.size(), 120u);
}

}  // namespace
}  // namespace dunlin
