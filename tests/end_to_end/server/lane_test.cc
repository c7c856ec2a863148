// What may come over the Unix socket: garbage, floods, half messages. The connection is closed, the
// server lives, and everybody else is served meanwhile.

#include <gtest/gtest.h>

#include "common/base/random.h"
#include "tests/end_to_end/server/raw_client.h"
#include "tests/support/server_process.h"

namespace dunlin::testing {
namespace {

class ServerLane : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY, .memory = "64MiB"});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    EXPECT_TRUE(RawClient(server_->socket()).Ping()) << "the server lives";
    EXPECT_EQ(server_->Terminate(), 0) << server_->Log();
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ServerLane, GarbageClosesTheConnection) {
  RawClient bystander(server_->socket());
  ASSERT_TRUE(bystander.Hello());
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    std::string bytes(random.Between(8, 5000), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    RawClient client(server_->socket());
    ASSERT_TRUE(client.connected());
    client.SendBytes(bytes);
    EXPECT_TRUE(client.IsClosed());
  }
  EXPECT_TRUE(bystander.Ping());
  EXPECT_GE(bystander.Status()->connections_refused(), 50u);
  size_t lines = 0;
  for (char c : server_->Log()) lines += c == '\n';
  EXPECT_LT(lines, 40u) << "the log is not flooded";
}

TEST_F(ServerLane, WrongOrderClosesTheConnection) {
  RawClient client(server_->socket());
  EXPECT_FALSE(client.TakeBlocks(10, 1)) << "no session yet";
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerLane, AnOversizedFrameClosesTheConnection) {
  RawClient client(server_->socket());
  LaneFrame frame{kMaxLaneBody + 1, 1, 0};
  client.SendBytes({reinterpret_cast<const char*>(&frame), sizeof frame});
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerLane, HalfAMessageHoldsUpNobody) {
  std::vector<std::unique_ptr<RawClient>> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(std::make_unique<RawClient>(server_->socket()));
    LaneFrame frame{1000, 1, 0};
    ASSERT_TRUE(halves.back()->SendBytes({reinterpret_cast<const char*>(&frame), sizeof frame}));
  }
  RawClient client(server_->socket());
  EXPECT_TRUE(client.Hello());
  EXPECT_TRUE(client.TakeBlocks(10, 10));
}

TEST_F(ServerLane, AFloodOfRequestsWithoutReadingRepliesHoldsUpNobody) {
  RawClient flood(server_->socket());
  ASSERT_TRUE(flood.Hello());
  std::string many;
  for (int i = 0; i < 2000; ++i) many += std::string("\0\0\0\0\x06\0\0\0", 8);
  for (int round = 0; round < 100; ++round) {
    pollfd ready{flood.socket_fd(), POLLOUT, 0};
    if (poll(&ready, 1, 200) == 0) break;  // its replies have filled every buffer
    flood.SendSome(many);
  }
  RawClient client(server_->socket());
  EXPECT_TRUE(client.Hello());
  EXPECT_TRUE(client.Ping());
}

// More replies than the server holds for a peer, asked for at once.
TEST_F(ServerLane, EveryPipelinedRequestIsAnswered) {
  RawClient client(server_->socket());
  ASSERT_TRUE(client.Hello());
  constexpr int kRequests = 400;  // 8 KiB of reply each, until the memory is full
  for (int i = 0; i < kRequests; ++i) {
    BlocksRequest request{1, kMaxBlocksPerBatch, 0, 0};
    ASSERT_TRUE(client.Send(LaneKind::kBlocksRequest,
                            {reinterpret_cast<const char*>(&request), sizeof request}));
  }
  for (int i = 0; i < kRequests; ++i) {
    auto message = client.Receive();
    ASSERT_TRUE(message) << i;
    ASSERT_EQ(message->kind, LaneKind::kBlocksReply);
  }
}

TEST_F(ServerLane, AnotherLayoutVersionIsTold) {
  RawClient client(server_->socket());
  control::ControlRequest request;
  request.mutable_hello()->set_layout_version(kLayoutVersion + 41);
  auto reply = client.Call(request);
  ASSERT_TRUE(reply);
  EXPECT_NE(reply->code(), 0u);
  EXPECT_NE(reply->message().find(std::to_string(kLayoutVersion + 41)), std::string::npos);
  EXPECT_EQ(client.region_fd(), -1) << "no region for a stranger";
  EXPECT_TRUE(client.Ping()) << "but an answer";
}

}  // namespace
}  // namespace dunlin::testing
