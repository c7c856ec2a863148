#include "common/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace dunlin {
namespace {

bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

int OpenSomething() { return ::memfd_create("unique_fd", MFD_CLOEXEC); }

TEST(UniqueFd, ClosesAtTheEndOfItsLife) {
  int raw = -1;
  {
    const UniqueFd fd(OpenSomething());
    raw = fd.get();
    EXPECT_TRUE(fd.valid());
    EXPECT_TRUE(IsOpen(raw));
  }
  EXPECT_FALSE(IsOpen(raw));
}

TEST(UniqueFd, MovesOwnership) {
  UniqueFd a(OpenSomething());
  const int raw = a.get();
  UniqueFd b(std::move(a));
  EXPECT_EQ(b.get(), raw);
  EXPECT_FALSE(a.valid());

  UniqueFd c(OpenSomething());
  const int replaced = c.get();
  c = std::move(b);
  EXPECT_FALSE(IsOpen(replaced));
  EXPECT_TRUE(IsOpen(raw));
  EXPECT_EQ(c.get(), raw);
}

TEST(UniqueFd, ReleaseKeepsItOpenAndResetClosesIt) {
  UniqueFd fd(OpenSomething());
  const int raw = fd.Release();
  EXPECT_FALSE(fd.valid());
  EXPECT_TRUE(IsOpen(raw));
  fd.Reset(raw);
  fd.Reset();
  EXPECT_FALSE(IsOpen(raw));
}

}  // namespace
}  // namespace dunlin
