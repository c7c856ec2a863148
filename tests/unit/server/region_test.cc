#include "server/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/region_plan.h"

namespace dunlin {
namespace {

class RegionTest : public testing::Test {
 protected:
  RegionTest() {
    options_.socket = "/unused";
    options_.memory = uint64_t{8} << 20;
    options_.huge_pages = static_cast<size_t>(HugePages::kNever);
  }
  absl::StatusOr<std::unique_ptr<Region>> Create() {
    return Region::Create(options_, true, logger_);
  }

  ManualClock clock_;
  Logger logger_{{.level = LogLevel::kOff}, &clock_};
  ServerOptions options_;
};

TEST_F(RegionTest, IsFormattedSealedAndBacked) {
  auto region = Create();
  ASSERT_TRUE(region.ok()) << region.status();
  const auto* superblock = reinterpret_cast<const Superblock*>((*region)->base());
  EXPECT_EQ(WhyNotUsable(*superblock, options_.memory), "");
  EXPECT_EQ(superblock->state, static_cast<uint64_t>(ServerState::kStarting));
  EXPECT_NE(superblock->hash_seed, 0u);
  struct stat info {};
  ASSERT_EQ(fstat((*region)->fd(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), options_.memory);
  EXPECT_GE(static_cast<uint64_t>(info.st_blocks) * 512, options_.memory) << "no hole: no SIGBUS";
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(ftruncate((*region)->fd(), 4096), 0) << "a client must not cut it short";
  EXPECT_NE(ftruncate((*region)->fd(), 1 << 30), 0);
}

TEST_F(RegionTest, TwoRegionsDiffer) {
  auto a = Create();
  auto b = Create();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE((*a)->plan().incarnation, (*b)->plan().incarnation);
  EXPECT_NE((*a)->plan().hash_seed, (*b)->plan().hash_seed);
}

TEST_F(RegionTest, TheReadOnlyDescriptorRefusesAWritableMapping) {
  auto region = Create();
  ASSERT_TRUE(region.ok()) << region.status();
  int fd = (*region)->read_only_fd();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_NE(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(static_cast<const Superblock*>(page)->magic, kSuperblockMagic);
  munmap(page, 4096);
}

TEST_F(RegionTest, OutOfADirectory) {
  options_.region_dir = testing::TempDir();
  auto region = Create();
  ASSERT_TRUE(region.ok()) << region.status();
  options_.region_dir = "/no/such/folder";
  region = Create();
  ASSERT_FALSE(region.ok());
  EXPECT_NE(region.status().message().find("/no/such/folder"), absl::string_view::npos);
}

TEST_F(RegionTest, HugePagesThatMustBeAndAreNot) {
  options_.memory = uint64_t{400} << 30;  // surely more than there is
  options_.huge_pages = static_cast<size_t>(HugePages::kAlways);
  auto region = Create();
  ASSERT_FALSE(region.ok());
  EXPECT_NE(region.status().message().find("sysctl vm.nr_hugepages=204800"),
            absl::string_view::npos)
      << region.status();
}

TEST_F(RegionTest, ANodeThatIsNotThere) {
  options_.numa_node = 1000;
  auto region = Create();
  ASSERT_FALSE(region.ok());
  EXPECT_NE(region.status().message().find("node 1000"), absl::string_view::npos);
}

}  // namespace
}  // namespace dunlin
