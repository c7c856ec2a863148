#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/lane/connect_socket.h"
#include "tests/support/temporary_folder.h"

namespace dunlin {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Deadline Late() { return Deadline::After(milliseconds(20'000)); }

class ConnectSocketTest : public ::testing::Test {
 protected:
  UniqueFd Listen(int backlog, int type = SOCK_STREAM) {
    UniqueFd listener(::socket(AF_UNIX, type, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(listener.get(), backlog), 0);
    }
    return listener;
  }

  const dunlin::testing::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/socket";
};

TEST_F(ConnectSocketTest, Connects) {
  const UniqueFd listener = Listen(4);
  const auto socket = ConnectSocket(path_, Late());
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_NE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ConnectSocketTest, NoServerIsUnavailableWithPathAndRemedy) {
  // No socket; a socket that nobody listens on any more; a file.
  EXPECT_EQ(ConnectSocket(path_, Late()).status().code(), absl::StatusCode::kUnavailable);
  Listen(1);
  const absl::Status status = ConnectSocket(path_, Late()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr(path_));
  EXPECT_THAT(status.ToString(), HasSubstr("start dunlin-server"));
  const std::string file = folder_.path() + "/file";
  std::ofstream(file) << "text";
  EXPECT_EQ(ConnectSocket(file, Late()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectSocketTest, ADatagramSocketIsNotAServer) {
  const UniqueFd listener = Listen(0, SOCK_DGRAM);
  EXPECT_EQ(ConnectSocket(path_, Late()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ConnectSocketTest, AServerThatDoesNotAcceptMissesTheDeadline) {
  const UniqueFd listener = Listen(0);
  std::vector<UniqueFd> waiting;
  absl::Status status;
  while (status.ok() && waiting.size() < 100) {
    auto socket = ConnectSocket(path_, Deadline::After(milliseconds(50)));
    status = socket.status();
    if (socket.ok()) waiting.push_back(*std::move(socket));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.ToString(), HasSubstr(path_));
  EXPECT_EQ(ConnectSocket(path_, Deadline::After(milliseconds(0))).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ConnectSocketTest, PathsThatCannotBeAreRefused) {
  for (const std::string& path : {std::string(), std::string(200, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(ConnectSocket(path, Late()).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(ConnectSocket(std::string(200, 'x'), Late()).status().ToString(),
              HasSubstr("1 to 107 bytes, found 200"));
}

TEST_F(ConnectSocketTest, AModeThatForbidsIsPermissionDenied) {
  const UniqueFd listener = Listen(4);
  ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  // Root passes every mode, so the attempt is made by a child that gives root up.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::chmod(folder_.path().c_str(), 0755) != 0 || (::geteuid() == 0 && ::seteuid(65534) != 0)) {
      ::_exit(2);
    }
    const absl::Status status = ConnectSocket(path_, Late()).status();
    ::_exit(status.code() == absl::StatusCode::kPermissionDenied ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

}  // namespace
}  // namespace dunlin
