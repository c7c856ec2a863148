#include "client/kvctl/commands/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dunlin::kvctl {
namespace {

TEST(OutputFile, IsRenamedOnCommit) {
  const std::string path = ::testing::TempDir() + "/kvctl_output_file_test";
  {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Write("abc").ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE((*file)->Commit().ok());
  }
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  std::filesystem::remove(path);
}

TEST(OutputFile, DevicesAreWrittenInPlace) {
  auto file = OutputFile::Create("/dev/null");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Write("abc").ok());
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, AFullDiskIsAnError) {
  auto file = OutputFile::Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Write("abc").ok());
  EXPECT_EQ((*file)->Commit().code(), absl::StatusCode::kInternal);
}

TEST(OutputFile, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(OutputFile::Create("/nonexistent/file").status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace dunlin::kvctl
