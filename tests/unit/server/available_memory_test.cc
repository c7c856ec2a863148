#include "server/available_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace dunlin {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A tree of files like those of the kernel.
class AvailableMemoryTest : public ::testing::Test {
 protected:
  AvailableMemoryTest() {
    Write("/proc/meminfo", "MemTotal: 9999 kB\nMemAvailable:    1048576 kB\nBuffers: 1 kB\n");
  }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void Group(const std::string& path, const std::string& max, uint64_t current, uint64_t cache) {
    Write("/sys/fs/cgroup" + path + "/memory.max", max + "\n");
    Write("/sys/fs/cgroup" + path + "/memory.current", std::to_string(current) + "\n");
    Write("/sys/fs/cgroup" + path + "/memory.stat",
          "anon 5\ninactive_file " + std::to_string(cache) + "\nactive_file 7\n");
  }

  const testing::TemporaryFolder folder_;
  const std::string& root_ = folder_.path();
};

TEST_F(AvailableMemoryTest, WhatTheKernelSays) { EXPECT_EQ(AvailableMemory(root_), 1024 * kMiB); }

TEST_F(AvailableMemoryTest, TheGroupHasLessRoom) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Group("/a/b", std::to_string(512 * kMiB), 200 * kMiB, 50 * kMiB);
  EXPECT_EQ(AvailableMemory(root_), 362 * kMiB);
}

TEST_F(AvailableMemoryTest, AGroupAboveHasLessRoom) {
  Write("/proc/self/cgroup", "1:name=systemd:/\n0::/a/b\n");
  Group("/a/b", "max", 10 * kMiB, 0);
  Group("/a", std::to_string(100 * kMiB), 30 * kMiB, 0);
  EXPECT_EQ(AvailableMemory(root_), 70 * kMiB);
}

TEST_F(AvailableMemoryTest, InsideAContainerTheGroupIsTheRoot) {
  Write("/proc/self/cgroup", "0::/\n");
  Group("", std::to_string(64 * kMiB), 100 * kMiB, 0);
  EXPECT_EQ(AvailableMemory(root_), 0u) << "over its limit";
}

TEST_F(AvailableMemoryTest, NoLimits) {
  Write("/proc/self/cgroup", "0::/a\n");
  Group("/a", "max", 10 * kMiB, 0);
  EXPECT_EQ(AvailableMemory(root_), 1024 * kMiB);
  EXPECT_EQ(AvailableMemory("/no/such/root"), ~uint64_t{0});
}

TEST(FirstToBeKilled, IsUndone) {
  auto score = [] {
    std::string text;
    std::ifstream("/proc/self/oom_score_adj") >> text;
    return text;
  };
  std::string before = score();
  {
    FirstToBeKilled first;
    EXPECT_EQ(score(), "1000");
  }
  EXPECT_EQ(score(), before);
}

}  // namespace
}  // namespace dunlin
