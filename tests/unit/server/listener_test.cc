#include "server/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace dunlin {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() { options_.socket = folder_ + "/s"; }

  bool Connects() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, options_.socket.c_str());
    return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  const testing::TemporaryFolder temporary_;
  const std::string& folder_ = temporary_.path();
  ServerOptions options_;
};

TEST_F(ListenerTest, ListensWithTheModeAndRemovesItsSocket) {
  options_.socket_mode = "0604";
  {
    auto listener = Listener::Bind(options_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_FALSE(Connects()) << "not before the server is ready";
    ASSERT_TRUE((*listener)->Listen().ok());
    EXPECT_TRUE(Connects());
    struct stat info {};
    ASSERT_EQ(stat(options_.socket.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0604u);
  }
  EXPECT_FALSE(std::filesystem::exists(options_.socket));
}

TEST_F(ListenerTest, OnePathHasOneServer) {
  auto first = Listener::Bind(options_);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE((*first)->Listen().ok());
  auto second = Listener::Bind(options_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Connects()) << "the first is not disturbed";
  first->reset();
  EXPECT_TRUE(Listener::Bind(options_).ok());
}

TEST_F(ListenerTest, AStaleSocketIsReplaced) {
  {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, options_.socket.c_str());
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(options_.socket));
  auto listener = Listener::Bind(options_);
  ASSERT_TRUE(listener.ok()) << listener.status();
  ASSERT_TRUE((*listener)->Listen().ok());
  EXPECT_TRUE(Connects());
}

TEST_F(ListenerTest, AnothersSocketOrFileIsLeftAlone) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, options_.socket.c_str());
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(fd.get(), 1), 0);
  EXPECT_EQ(Listener::Bind(options_).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(options_.socket));

  options_.socket = folder_ + "/file";
  std::ofstream(options_.socket) << "precious";
  EXPECT_EQ(Listener::Bind(options_).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(options_.socket));
}

TEST_F(ListenerTest, ErrorsNameWhatIsWrong) {
  options_.socket_owner = "nobody-of-this-name";
  auto listener = Listener::Bind(options_);
  ASSERT_FALSE(listener.ok());
  EXPECT_NE(listener.status().message().find("nobody-of-this-name"), absl::string_view::npos);
  options_.socket_owner = "";
  options_.socket = folder_ + "/no/such/folder/s";
  listener = Listener::Bind(options_);
  ASSERT_FALSE(listener.ok());
  EXPECT_NE(listener.status().message().find("/no/such/folder"), absl::string_view::npos);
}

}  // namespace
}  // namespace dunlin
