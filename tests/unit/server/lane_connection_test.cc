#include "server/lane_connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

using Progress = LaneConnection::Progress;

class LaneConnectionTest : public CoreFixture {
 protected:
  LaneConnectionTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    client_.Reset(ends[0]);
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    process_end_.Reset(pipe_ends[1]);
    region_.Reset(open("/dev/null", O_RDWR));
    read_only_.Reset(open("/dev/null", O_RDONLY));
    lane_.emplace(UniqueFd(ends[1]), UniqueFd(pipe_ends[0]), 42,
                  LaneConnection::Descriptors{region_.get(), read_only_.get()});
  }

  static std::string Frame(LaneKind kind, const std::string& body) {
    LaneFrame frame{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(kind), 0};
    return std::string(reinterpret_cast<const char*>(&frame), sizeof frame) + body;
  }
  static std::string Hello(bool read_only) {
    control::ControlRequest request;
    request.mutable_hello()->set_layout_version(kLayoutVersion);
    request.mutable_hello()->set_read_only(read_only);
    return Frame(LaneKind::kControlRequest, request.SerializeAsString());
  }
  void Send(const std::string& bytes) {
    ASSERT_EQ(send(client_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  // Receives what is there, at most `most`; the descriptor that came along goes to `fd`.
  std::string Receive(UniqueFd* fd = nullptr, size_t most = 1 << 20) {
    std::string bytes(most, '\0');
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = recvmsg(client_.get(), &message, 0);
    if (n <= 0) return "";
    bytes.resize(static_cast<size_t>(n));
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
      int received;
      std::memcpy(&received, CMSG_DATA(h), sizeof received);
      UniqueFd owner(received);
      if (fd != nullptr) *fd = std::move(owner);
    }
    return bytes;
  }

  UniqueFd client_, process_end_, region_, read_only_;
  std::optional<LaneConnection> lane_;
};

TEST_F(LaneConnectionTest, TheRegionComesWithTheFirstByteOfTheHelloReply) {
  control::ControlRequest ping;
  ping.mutable_ping();
  Send(Frame(LaneKind::kControlRequest, ping.SerializeAsString()) + Hello(true));
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  ASSERT_EQ(lane_->Write(), Progress::kOpen);
  UniqueFd with_ping;
  LaneFrame frame{};
  std::string header = Receive(&with_ping, sizeof frame);
  std::memcpy(&frame, header.data(), sizeof frame);
  Receive(&with_ping, frame.bytes);
  UniqueFd with_hello;
  Receive(&with_hello, 1);
  EXPECT_FALSE(with_ping.valid()) << "the descriptor belongs to the hello's first byte";
  ASSERT_TRUE(with_hello.valid());
  EXPECT_EQ(fcntl(with_hello.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_FALSE(lane_->WantsWrite());
  EXPECT_TRUE(lane_->WantsRead());
}

TEST_F(LaneConnectionTest, AFrameInSmallPieces) {
  for (char c : Hello(false)) {
    Send(std::string(1, c));
    ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  }
  ASSERT_EQ(lane_->Write(), Progress::kOpen);
  UniqueFd fd;
  EXPECT_FALSE(Receive(&fd).empty());
  ASSERT_TRUE(fd.valid());
  EXPECT_EQ(fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDWR);
}

TEST_F(LaneConnectionTest, GarbageBreaksIt) {
  Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(lane_->Read(*core_), Progress::kBroken);
  EXPECT_NE(lane_->why(), "");
}

TEST_F(LaneConnectionTest, WhatCameBeforeTheHangUpCounts) {
  Send(Hello(false));
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  control::ControlRequest goodbye;
  goodbye.mutable_goodbye();
  Send(Frame(LaneKind::kControlRequest, goodbye.SerializeAsString()));
  client_.Reset();
  ASSERT_NE(lane_->Read(*core_), Progress::kBroken);
  EXPECT_EQ(lane_->peer().session, 0u) << "said goodbye";
  EXPECT_EQ(lane_->Read(*core_), Progress::kHungUp);
}

TEST_F(LaneConnectionTest, APeerThatReadsNoRepliesIsNotServedFurther) {
  Send(Hello(false));
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  // Each request is answered with 8 KiB of blocks or a short refusal.
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    BlocksRequest request{1, 1024, 0, 0};
    requests += Frame(LaneKind::kBlocksRequest,
                      std::string(reinterpret_cast<const char*>(&request), sizeof request));
  }
  for (int round = 0; round < 2000 && lane_->WantsRead(); ++round) {
    ssize_t sent = send(client_.get(), requests.data(), requests.size(), MSG_DONTWAIT);
    if (sent < 0) break;
    ASSERT_EQ(sent % 32, 0);
    ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
    ASSERT_EQ(lane_->Write(), Progress::kOpen);
  }
  EXPECT_FALSE(lane_->WantsRead()) << "the bound was never reached";
  EXPECT_TRUE(lane_->WantsWrite());
  lane_->NoteStall(1000);
  EXPECT_EQ(lane_->stalled_since(), 1000u);
  lane_->NoteStall(2000);
  EXPECT_EQ(lane_->stalled_since(), 1000u);
  while (!Receive().empty()) {
  }
  ASSERT_EQ(lane_->Write(), Progress::kOpen);
  lane_->NoteStall(3000);
  EXPECT_NE(lane_->stalled_since(), 1000u) << "it has taken something";
}

TEST_F(LaneConnectionTest, WhatWasLeftBecauseOfUnsentRepliesIsAskedForAgain) {
  Send(Hello(false));
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  std::string requests;
  for (int i = 0; i < 200; ++i) {
    BlocksRequest request{1, 1024, 0, 0};
    requests += Frame(LaneKind::kBlocksRequest,
                      std::string(reinterpret_cast<const char*>(&request), sizeof request));
  }
  Send(requests);
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  EXPECT_FALSE(lane_->WantsRead());
  // The socket takes all of it at once, so no unsent reply is left that would wake the server.
  int room = 1 << 19;
  ASSERT_EQ(setsockopt(lane_->fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
  ASSERT_EQ(lane_->Write(), Progress::kOpen);
  std::string replies;
  for (int round = 0; round < 100; ++round) {
    for (std::string more = Receive(); !more.empty(); more = Receive()) replies += more;
    if (!lane_->WantsWrite()) break;
    ASSERT_EQ(lane_->Write(), Progress::kOpen);
    ASSERT_EQ(lane_->Resume(*core_), Progress::kOpen);
    ASSERT_EQ(lane_->Write(), Progress::kOpen);
  }
  size_t frames = 0;
  for (size_t at = 0; at < replies.size(); ++frames) {
    LaneFrame frame;
    std::memcpy(&frame, replies.data() + at, sizeof frame);
    at += sizeof frame + frame.bytes;
  }
  EXPECT_EQ(frames, 201u);
}

TEST_F(LaneConnectionTest, ACountMakesTheRestWait) {
  control::ControlRequest count;
  count.mutable_status()->set_count_index(true);
  control::ControlRequest ping;
  ping.mutable_ping();
  Send(Frame(LaneKind::kControlRequest, count.SerializeAsString()) +
       Frame(LaneKind::kControlRequest, ping.SerializeAsString()));
  ASSERT_EQ(lane_->Read(*core_), Progress::kOpen);
  EXPECT_TRUE(lane_->waiting());
  EXPECT_FALSE(lane_->WantsRead());
  EXPECT_FALSE(lane_->WantsWrite());
  Settle();
  ASSERT_EQ(lane_->Resume(*core_), Progress::kOpen);
  EXPECT_FALSE(lane_->waiting());
  ASSERT_EQ(lane_->Write(), Progress::kOpen);
  std::string replies = Receive();
  LaneFrame frame{};
  ASSERT_GE(replies.size(), sizeof frame);
  std::memcpy(&frame, replies.data(), sizeof frame);
  EXPECT_GT(replies.size(), sizeof frame + frame.bytes) << "the ping's reply comes behind";
}

}  // namespace
}  // namespace dunlin
