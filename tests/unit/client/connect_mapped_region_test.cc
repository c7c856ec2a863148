#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <string>

#include "client/connect/mapped_region.h"
#include "common/layout/word.h"
#include "tests/unit/client/region_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

class MappedRegionTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<MappedRegion>> Map(const UniqueFd& file, bool read_only = false,
                                                    uint64_t incarnation = 77) {
    return MappedRegion::Map(file, read_only, incarnation, guard_);
  }
  absl::Status MapStatus(const Superblock& superblock, uint64_t bytes) {
    return Map(TestRegion(superblock, bytes)).status();
  }

  std::shared_ptr<ForkGuard> guard_ = ForkGuard::Create().value();
};

TEST_F(MappedRegionTest, WritesAreShared) {
  const Superblock s = TestSuperblock();
  const UniqueFd file = TestRegion(s, s.region_bytes);
  const auto one = Map(file);
  const auto other = Map(file, true);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*one)->size(), s.region_bytes);
  EXPECT_EQ((*one)->incarnation(), 77u);
  EXPECT_EQ((*one)->geometry().heap_offset, s.heap_offset);
  EXPECT_FALSE((*one)->read_only());
  EXPECT_TRUE((*other)->read_only());
  StoreWord((*one)->SessionWord(3), 4711);
  EXPECT_EQ(LoadWord((*other)->base() + s.session_offset + 3 * kSessionWordBytes), 4711u);
}

TEST_F(MappedRegionTest, LiveWordsMoveAndConstantsStay) {
  const Superblock s = TestSuperblock();
  const UniqueFd file = TestRegion(s, s.region_bytes);
  const auto region = Map(file);
  ASSERT_TRUE(region.ok()) << region.status();
  StoreWord(&(*region)->superblock()->tick, 2000);
  (*region)->superblock()->session_words = 1;
  EXPECT_EQ(LoadWord(&(*region)->superblock()->tick), 2000u);
  EXPECT_EQ((*region)->constants().session_words, 64u);
}

TEST_F(MappedRegionTest, MayBeLongerThanTheSuperblockSays) {
  const Superblock s = TestSuperblock();
  const auto region = Map(TestRegion(s, s.region_bytes + (2u << 20)));
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ((*region)->size(), s.region_bytes);
}

TEST_F(MappedRegionTest, WhatIsNotARegionIsRefusedWithWhatWasFound) {
  const Superblock good = TestSuperblock();
  const auto expect_refused = [&](const absl::Status& status, const std::string& found) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << found;
    EXPECT_THAT(status.ToString(), HasSubstr(found));
  };
  expect_refused(MapStatus(good, 0), "at least 4096 bytes, found 0 bytes");
  expect_refused(MapStatus(good, 4095), "at least 4096 bytes, found 4095 bytes");
  expect_refused(MapStatus(good, good.region_bytes - 1), "truncated region");
  Superblock foreign = good;
  foreign.magic = 1;
  expect_refused(MapStatus(foreign, good.region_bytes), "magic");
  Superblock newer = good;
  newer.layout_version = kLayoutVersion + 1;
  SealSuperblock(newer);
  expect_refused(MapStatus(newer, good.region_bytes),
                 "layout version of the region: expected " + std::to_string(kLayoutVersion) +
                     ", found " + std::to_string(kLayoutVersion + 1));
  Superblock corrupt = good;
  corrupt.heap_bytes += 4096;
  expect_refused(MapStatus(corrupt, good.region_bytes), "checksum");
}

TEST_F(MappedRegionTest, AnotherIncarnationIsRefused) {
  const Superblock s = TestSuperblock();
  const absl::Status status = Map(TestRegion(s, s.region_bytes), false, 78).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("expected 78"));
  EXPECT_THAT(status.ToString(), HasSubstr("found 77"));
}

TEST_F(MappedRegionTest, NoFileIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_EQ(Map(reader).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Map(UniqueFd()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MappedRegionTest, AReadOnlyDescriptorServesReadOnlySessionsAlone) {
  const Superblock s = TestSuperblock();
  const UniqueFd file = TestRegion(s, s.region_bytes);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(read_only.valid());
  EXPECT_TRUE(Map(read_only, true).ok());
  const absl::Status status = Map(read_only, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.ToString(), HasSubstr("read-only session"));
}

// The child has neither the mapping nor the right to unmap what has taken its place.
TEST_F(MappedRegionTest, AChildDoesNotHaveIt) {
  const Superblock s = TestSuperblock();
  const UniqueFd file = TestRegion(s, s.region_bytes);
  auto region = Map(file).value();
  std::byte* const base = region->base();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsigned char resident = 0;
    if (::mincore(base, kTestPage, &resident) == 0) ::_exit(1);
    void* own = ::mmap(base, kTestPage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (own != base) ::_exit(2);
    region.reset();
    ::_exit(::mincore(base, kTestPage, &resident) == 0 ? 0 : 3);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(LoadWord(&region->superblock()->tick), 1000u);
}

TEST_F(MappedRegionTest, IsUnmappedWithItsLastOwner) {
  const Superblock s = TestSuperblock();
  auto region = Map(TestRegion(s, s.region_bytes)).value();
  std::byte* const base = region->base();
  auto second = region;
  region.reset();
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(base, kTestPage, &resident), 0);
  second.reset();
  EXPECT_NE(::mincore(base, kTestPage, &resident), 0);
}

}  // namespace
}  // namespace dunlin
