#include "common/base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "common/base/unique_fd.h"

namespace dunlin {
namespace {

using testing::HasSubstr;

// An unnamed file with a path.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) : fd_(::memfd_create("file", MFD_CLOEXEC)) {
    EXPECT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  UniqueFd fd_;
};

TEST(ReadWholeFile, ReadsEveryByte) {
  std::string text(200'000, 'x');
  text[100'000] = '\0';
  EXPECT_EQ(ReadWholeFile(TemporaryFile("").path(), 10).value(), "");
  EXPECT_EQ(ReadWholeFile(TemporaryFile(text).path(), text.size()).value(), text);
}

TEST(ReadWholeFile, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_EQ(::write(writer.get(), "abc", 3), 3);
  writer.Reset();
  EXPECT_EQ(ReadWholeFile("/proc/self/fd/" + std::to_string(reader.get()), 3).value(), "abc");
}

TEST(ReadWholeFile, RefusesMoreThanTheLimit) {
  const TemporaryFile file("12345");
  EXPECT_TRUE(ReadWholeFile(file.path(), 5).ok());
  const absl::Status status = ReadWholeFile(file.path(), 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("limit of 4 bytes"));
}

TEST(ReadWholeFile, ErrorsNameThePathAndTheReason) {
  const absl::Status missing = ReadWholeFile("/no/such\nfile", 10).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("cannot open '/no/such\\x0afile': No such file or directory"));
  EXPECT_THAT(std::string(ReadWholeFile("/", 10).status().message()),
              HasSubstr("cannot read '/': Is a directory"));
}

}  // namespace
}  // namespace dunlin
