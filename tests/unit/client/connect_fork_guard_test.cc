#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/connect/fork_guard.h"

namespace dunlin {
namespace {

int ExitCodeOf(pid_t child) {
  int result = 0;
  return ::waitpid(child, &result, 0) == child && WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

TEST(ForkGuardTest, OnlyTheChildIsAChild) {
  const auto guard = ForkGuard::Create();
  ASSERT_TRUE(guard.ok()) << guard.status();
  EXPECT_FALSE((*guard)->InChild());
  const pid_t child = ::fork();
  if (child == 0) ::_exit((*guard)->InChild() ? 0 : 1);
  EXPECT_EQ(ExitCodeOf(child), 0);
  EXPECT_FALSE((*guard)->InChild());
}

TEST(ForkGuardTest, AChildMakesItsOwn) {
  const auto guard = ForkGuard::Create();
  ASSERT_TRUE(guard.ok()) << guard.status();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = ForkGuard::Create();
    ::_exit(own.ok() && !(*own)->InChild() && (*guard)->InChild() ? 0 : 1);
  }
  EXPECT_EQ(ExitCodeOf(child), 0);
}

}  // namespace
}  // namespace dunlin
