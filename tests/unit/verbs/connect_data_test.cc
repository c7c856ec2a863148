#include "common/fabric/verbs/connect_data.h"

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> Padded(const ConnectData& data, size_t bytes) {
  std::vector<std::byte> received(bytes);
  if (bytes != 0) std::memcpy(received.data(), &data, std::min(bytes, sizeof data));
  return received;
}

TEST(ConnectDataTest, SurvivesPadding) {
  ConnectData data = MakeConnectData(4096, 32);
  data.replaces_session = 9;
  data.replaces_token = 10;
  for (const size_t bytes : {sizeof data, size_t{56}, size_t{196}}) {
    ConnectData parsed;
    ConnectVerdict verdict;
    ASSERT_EQ(ParseConnectData(Padded(data, bytes), &parsed, &verdict), "");
    EXPECT_EQ(verdict, ConnectVerdict::kWelcome);
    EXPECT_EQ(std::memcmp(&parsed, &data, sizeof data), 0);
  }
}

TEST(ConnectDataTest, RefusesOthers) {
  const ConnectData good = MakeConnectData(4096, 32);
  const auto refused = [](const ConnectData& data, size_t bytes = sizeof(ConnectData)) {
    ConnectData parsed;
    ConnectVerdict verdict;
    const std::string why = ParseConnectData(Padded(data, bytes), &parsed, &verdict);
    EXPECT_NE(why, "");
    return verdict;
  };
  EXPECT_EQ(refused(good, 0), ConnectVerdict::kInvalid);
  EXPECT_EQ(refused(good, sizeof good - 1), ConnectVerdict::kInvalid);
  ConnectData data = good;
  data.magic = 0;
  EXPECT_EQ(refused(data), ConnectVerdict::kInvalid);
  data = good;
  data.bytes = sizeof data + 1;
  EXPECT_EQ(refused(data), ConnectVerdict::kInvalid);
  data = good;
  data.version = kConnectVersion + 1;
  EXPECT_EQ(refused(data), ConnectVerdict::kOtherVersion);
  for (const uint32_t depth : {0u, Credits::kLeastDepth - 1, kMostReceiveDepth + 1, UINT32_MAX}) {
    data = good;
    data.receive_depth = depth;
    EXPECT_EQ(refused(data), ConnectVerdict::kInvalid) << depth;
  }
  for (const uint32_t bytes : {0u, kLeastMessageBytes - 1, kMostMessageBytes + 1, UINT32_MAX}) {
    data = good;
    data.message_bytes = bytes;
    EXPECT_EQ(refused(data), ConnectVerdict::kInvalid) << bytes;
  }
}

// A later release's longer data of the same version are taken for what is known of them.
TEST(ConnectDataTest, MayGrow) {
  ConnectData data = MakeConnectData(4096, 32);
  data.bytes = 48;
  ConnectData parsed;
  ConnectVerdict verdict;
  EXPECT_EQ(ParseConnectData(Padded(data, 56), &parsed, &verdict), "");
}

TEST(ConnectDataTest, NamesEveryVerdict) {
  EXPECT_THAT(DescribeVerdict(static_cast<uint16_t>(ConnectVerdict::kTooMany)),
              HasSubstr("as many connections"));
  EXPECT_THAT(DescribeVerdict(static_cast<uint16_t>(ConnectVerdict::kStopping)),
              HasSubstr("stopping"));
  EXPECT_THAT(DescribeVerdict(999), HasSubstr("999"));
}

}  // namespace
}  // namespace dunlin
