#include "common/base/write_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "common/base/read_file.h"

namespace dunlin {
namespace {

TEST(WriteWholeFile, ReplacesWhatWasThere) {
  const std::string path = ::testing::TempDir() + "/write_file_test";
  EXPECT_EQ(WriteWholeFile(path, "something longer"), 0);
  const std::string text("a\0b\n", 4);
  EXPECT_EQ(WriteWholeFile(path, text), 0);
  const auto read = ReadWholeFile(path, 100);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
}

TEST(WriteWholeFile, SaysWhatFailed) {
  EXPECT_EQ(WriteWholeFile("/nowhere/file", "x"), ENOENT);
  EXPECT_EQ(WriteWholeFile("/dev/full", "x"), ENOSPC);
  EXPECT_EQ(WriteWholeFile("/dev/full", std::string(1 << 20, 'x')), ENOSPC);
}

}  // namespace
}  // namespace dunlin
