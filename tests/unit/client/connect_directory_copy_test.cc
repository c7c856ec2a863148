#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "client/connect/directory_copy.h"
#include "common/layout/word.h"
#include "tests/unit/client/region_testing.h"

namespace dunlin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DirectoryCopyTest : public ::testing::Test {
 protected:
  DirectoryCopyTest() : words_(superblock_.region_bytes / 8) {
    std::memcpy(base(), &superblock_, sizeof superblock_);
  }
  DirectoryCopy::ReadRegion Reader() {
    return [this](uint64_t offset, std::span<std::byte> to) {
      for (size_t at = 0; at < to.size(); at += kWordBytes) {
        SetPlainWord(to.data() + at, LoadWord(base() + offset + at));
      }
      return absl::OkStatus();
    };
  }
  std::byte* base() { return reinterpret_cast<std::byte*>(words_.data()); }
  uint64_t SubtableAt(uint32_t i, uint32_t depth) const {
    return DirectoryEntry::Make(superblock_.index_offset + i * kTestPage, depth).raw();
  }
  void Publish(uint32_t depth, uint32_t epoch, const std::vector<uint64_t>& entries,
               uint64_t offset_in_area = 0) {
    const uint64_t offset = superblock_.directory_offset + offset_in_area;
    for (size_t i = 0; i < entries.size(); ++i) StoreWord(base() + offset + i * 8, entries[i]);
    SetRoot(DirectoryRoot::Make(offset, depth, epoch).raw());
  }
  void SetRoot(uint64_t raw) { StoreWord(base() + offsetof(Superblock, directory_root), raw); }
  void ExpectCorrupt(const std::string& found) {
    const absl::Status status = copy_.Refresh(Reader(), superblock_);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << found;
    EXPECT_THAT(status.ToString(), HasSubstr(found));
  }
  std::vector<uint64_t> Entries() const {
    const DirectoryView view = copy_.view();
    return {view.entries, view.entries + (size_t{1} << view.depth)};
  }

  const Superblock superblock_ = TestSuperblock();
  std::vector<uint64_t> words_;
  DirectoryCopy copy_;
};

TEST_F(DirectoryCopyTest, FetchesWhatIsPublished) {
  EXPECT_FALSE(copy_.loaded());
  Publish(0, 1, {SubtableAt(0, 0)});
  ASSERT_TRUE(copy_.Refresh(Reader(), superblock_).ok());
  EXPECT_TRUE(copy_.loaded());
  EXPECT_EQ(copy_.view().epoch, 1u);
  EXPECT_THAT(Entries(), ElementsAre(SubtableAt(0, 0)));

  Publish(2, 2, {SubtableAt(0, 1), SubtableAt(0, 1), SubtableAt(1, 2), SubtableAt(3, 2)});
  ASSERT_TRUE(copy_.Refresh(Reader(), superblock_).ok());
  EXPECT_EQ(copy_.view().depth, 2u);
  EXPECT_EQ(copy_.view().epoch, 2u);
  EXPECT_EQ(copy_.root_word(), LoadWord(base() + offsetof(Superblock, directory_root)));
  EXPECT_THAT(Entries(),
              ElementsAre(SubtableAt(0, 1), SubtableAt(0, 1), SubtableAt(1, 2), SubtableAt(3, 2)));
}

TEST_F(DirectoryCopyTest, ARootOutsideItsAreaIsRefused) {
  SetRoot(0);
  ExpectCorrupt("found 8 bytes at 0");
  SetRoot(DirectoryRoot::Make(superblock_.index_offset, 0, 1).raw());
  ExpectCorrupt("expected within [8192, 12288)");
  SetRoot(DirectoryRoot::Make(superblock_.directory_offset, 10, 1).raw());
  ExpectCorrupt("found 8192 bytes at 8192");
  SetRoot(DirectoryRoot::Make(superblock_.directory_offset, kMaxDirectoryDepth + 1, 1).raw());
  ExpectCorrupt("at most 22, found 23");
  SetRoot(DirectoryRoot::Make(superblock_.directory_offset, 255, 1).raw());
  ExpectCorrupt("at most 22, found 255");
  SetRoot(~uint64_t{0});
  ExpectCorrupt("depth");
}

TEST_F(DirectoryCopyTest, AnEntryOutsideTheRegionIsRefusedAndTheCopyStays) {
  Publish(0, 1, {SubtableAt(0, 0)});
  ASSERT_TRUE(copy_.Refresh(Reader(), superblock_).ok());
  Publish(1, 2, {SubtableAt(0, 1), 0});
  ExpectCorrupt("entry 1: subtable");
  Publish(1, 2, {SubtableAt(0, 1), SubtableAt(13, 1)});
  ExpectCorrupt("entry 1: subtable");
  // One bucket too far: the last bucket of the subtable would lie behind the heap.
  Publish(1, 2,
          {SubtableAt(0, 1),
           DirectoryEntry::Make(superblock_.index_offset + 12 * kTestPage + 128, 1).raw()});
  ExpectCorrupt("entry 1: subtable");
  Publish(1, 2, {SubtableAt(0, 2), SubtableAt(1, 1)});
  ExpectCorrupt("entry 0: depth: expected at most 1, found 2");
  Publish(1, 2, {SubtableAt(0, 1), SubtableAt(1, 1) | uint64_t{1} << 45});
  ExpectCorrupt("entry 1: reserved");
  EXPECT_EQ(copy_.view().epoch, 1u);
  EXPECT_THAT(Entries(), ElementsAre(SubtableAt(0, 0)));
}

TEST_F(DirectoryCopyTest, AnIndexMayGrowIntoTheHeap) {
  Publish(1, 1, {SubtableAt(4, 1), SubtableAt(12, 1)});
  ASSERT_TRUE(copy_.Refresh(Reader(), superblock_).ok());
  EXPECT_THAT(Entries(), ElementsAre(SubtableAt(4, 1), SubtableAt(12, 1)));
}

// A publisher goes from one directory to the next, at the same place, so that only the second look
// at the root tells them apart. While the epoch is odd the entries are in flux, which a real server
// never shows; so those copies don't count.
TEST_F(DirectoryCopyTest, NeverMixesTwoDirectories) {
  constexpr uint32_t kPublications = 4'000;
  const std::vector<uint64_t> even(512, SubtableAt(0, 9));
  const std::vector<uint64_t> odd(512, SubtableAt(1, 9));
  Publish(9, 0, even);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> attempts{0};
  std::thread publisher([&] {
    for (uint32_t i = 1; i <= kPublications; ++i) {
      // Now and then a copy is to succeed.
      if (i % 64 == 0) {
        const uint64_t seen = attempts;
        while (attempts < seen + 2) std::this_thread::yield();
      }
      SetRoot(DirectoryRoot::Make(superblock_.directory_offset, 9, i * 2 + 1).raw());
      Publish(9, i * 2, i % 2 == 0 ? even : odd);
    }
    done = true;
  });
  int fetched = 0;
  int mixed = 0;
  int failed = 0;
  while (!done) {
    const absl::Status status = copy_.Refresh(Reader(), superblock_);
    ++attempts;
    if (!status.ok()) {
      failed += status.code() == absl::StatusCode::kAborted ? 0 : 1;
      continue;
    }
    if (copy_.view().epoch % 2 != 0) continue;
    ++fetched;
    const std::vector<uint64_t> entries = Entries();
    mixed += entries == even || entries == odd ? 0 : 1;
  }
  publisher.join();
  EXPECT_GT(fetched, 0);
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace dunlin
