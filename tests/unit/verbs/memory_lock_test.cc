#include "common/fabric/verbs/memory_lock.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

constexpr char kStatus[] =
    "Name:\tdunlin-server\nVmLck:\t     100 kB\nVmPin:\t      28 kB\nCapEff:\t0000000000000000\n";

TEST(MemoryLockTest, ReadsWhatTheKernelSays) {
  const MemoryLock lock = ParseMemoryLock(kStatus, 1 << 20, false);
  EXPECT_FALSE(lock.unlimited);
  EXPECT_EQ(lock.limit_bytes, 1u << 20);
  EXPECT_EQ(lock.locked_bytes, 128u << 10);
  EXPECT_TRUE(ParseMemoryLock(kStatus, 0, true).unlimited);
  EXPECT_TRUE(ParseMemoryLock("CapEff:\t000001ffffffffff\n", 0, false).unlimited);
  EXPECT_TRUE(ParseMemoryLock("Name:\tx\nCapEff:\t0000000000004000\n", 0, false).unlimited);
  EXPECT_FALSE(ParseMemoryLock("Name:\tx\nCapEff:\t0000000000003fff\n", 0, false).unlimited);
  EXPECT_FALSE(ParseMemoryLock("", 0, false).unlimited);
}

TEST(MemoryLockTest, ComparesWithTheLimit) {
  MemoryLock lock;
  lock.limit_bytes = 1000;
  lock.locked_bytes = 400;
  EXPECT_TRUE(CheckMemoryLock(lock, 600).ok());
  const absl::Status status = CheckMemoryLock(lock, 601);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("601"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("limit is 1000"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("LimitMEMLOCK=infinity"));
  EXPECT_FALSE(CheckMemoryLock(lock, UINT64_MAX).ok());
  lock.unlimited = true;
  EXPECT_TRUE(CheckMemoryLock(lock, UINT64_MAX).ok());
}

TEST(MemoryLockTest, ReadsThisProcess) {
  const MemoryLock lock = ReadMemoryLock();
  EXPECT_TRUE(lock.unlimited || lock.limit_bytes != 0);
}

}  // namespace
}  // namespace dunlin
