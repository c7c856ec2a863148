#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/connect/target.h"
#include "dunlin/client.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

TEST(TargetTest, APathFollowsTheScheme) {
  EXPECT_EQ(SocketPathOf("shm:///run/dunlin.sock").value(), "/run/dunlin.sock");
  EXPECT_EQ(SocketPathOf("shm://relative").value(), "relative");
}

TEST(TargetTest, AnythingElseIsRefusedWithWhatWasFound) {
  for (const std::string target :
       {"", "shm:", "shm://", "/run/dunlin.sock", "tcp://host", "SHM://x"}) {
    const absl::Status status = SocketPathOf(target).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(status.ToString(), HasSubstr("shm://"));
    EXPECT_THAT(status.ToString(), HasSubstr("'" + target + "'"));
    EXPECT_EQ(Client::Connect(target).status(), status);
  }
}

}  // namespace
}  // namespace dunlin
