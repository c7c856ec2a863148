#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/connect/target.h"
#include "dunlin/client.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

TEST(TargetTest, EachFabricHasItsScheme) {
  const auto shm = ParseTargets("shm:///run/dunlin.sock");
  ASSERT_TRUE(shm.ok());
  EXPECT_EQ(shm->front().fabric, Target::Fabric::kShm);
  EXPECT_EQ(shm->front().path, "/run/dunlin.sock");
  EXPECT_EQ(ParseTargets("shm://relative")->front().path, "relative");
  const auto tcp = ParseTargets("tcp://[::1]:7471");
  ASSERT_TRUE(tcp.ok());
  EXPECT_EQ(tcp->front().fabric, Target::Fabric::kTcp);
  EXPECT_EQ(tcp->front().address.host, "::1");
  EXPECT_EQ(tcp->front().address.port, "7471");
  EXPECT_EQ(ParseTargets("rdma://10.0.0.1:1")->front().fabric, Target::Fabric::kRdma);
}

TEST(TargetTest, SeveralInOrderAndACommaInAPath) {
  const auto targets = ParseTargets("rdma://a:1,tcp://b:2,shm:///x,y/z,shm://w");
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_EQ(targets->size(), 4u);
  EXPECT_EQ((*targets)[0].text, "rdma://a:1");
  EXPECT_EQ((*targets)[1].text, "tcp://b:2");
  EXPECT_EQ((*targets)[2].path, "/x,y/z");
  EXPECT_EQ((*targets)[3].path, "w");
}

TEST(TargetTest, AnythingElseIsRefusedWithWhatWasFound) {
  for (const std::string target : {"", "shm:", "shm://", "/run/dunlin.sock", "tcp://host",
                                   "rdma://", "SHM://x", "tcp://a:1,", "tcp://a:1,b:2"}) {
    const absl::Status status = ParseTargets(target).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(status.ToString(), HasSubstr("expected"));
    EXPECT_EQ(Client::Connect(target).status(), status);
  }
}

}  // namespace
}  // namespace dunlin
