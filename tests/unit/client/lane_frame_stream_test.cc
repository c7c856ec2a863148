#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <string>
#include <utility>

#include "common/fabric/frame_stream.h"
#include "tests/unit/client/lane_peer_testing.h"

namespace dunlin {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Deadline Soon() { return Deadline::After(milliseconds(30)); }
Deadline Late() { return Deadline::After(milliseconds(20'000)); }

std::span<const std::byte> Span(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(FrameStreamTest, AFrameArrivesHoweverItIsCut) {
  const std::string body(300'000, 'x');
  ScriptedServer server([&](LanePeer& peer) {
    const std::string frame = LanePeer::Frame(LaneKind::kHeartbeat, body);
    for (size_t at = 0, step = 1; at < frame.size(); at += step, step = step * 2 + 1) {
      peer.Write(std::string_view(frame).substr(at, step));
    }
    peer.WaitForClose();
  });
  FrameStream stream(server.TakeClient());
  const auto frame = stream.Receive(Late(), nullptr);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, LaneKind::kHeartbeat);
  EXPECT_EQ(Text(frame->body), body);
}

TEST(FrameStreamTest, AFrameLongerThanTheSocketTakesIsSentWhole) {
  const std::string body(kMaxLaneBody, 'y');
  std::string got;
  {
    ScriptedServer server([&](LanePeer& peer) {
      got = peer.Read()->body;
      peer.WaitForClose();
    });
    FrameStream stream(server.TakeClient());
    stream.Queue(LaneKind::kHeartbeat, Span(body).first(10), Span(body).subspan(10));
    EXPECT_TRUE(stream.SendUntil(0, Late()).ok());
    EXPECT_EQ(stream.unsent(), 0u);
    EXPECT_EQ(stream.frames_sent(), 1u);
  }
  EXPECT_TRUE(got == body);
}

TEST(FrameStreamTest, NoReplyInTimeBreaksIt) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  EXPECT_EQ(stream.Receive(Soon(), nullptr).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(stream.broken().code(), absl::StatusCode::kDeadlineExceeded);
  LanePeer(std::move(server)).Send(LaneKind::kHeartbeat, "");
  EXPECT_EQ(stream.Receive(Late(), nullptr).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(FrameStreamTest, APeerThatTakesNothingMissesTheDeadlineWithoutBreaking) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  const std::string body(kMaxLaneBody, 'z');
  stream.Queue(LaneKind::kHeartbeat, Span(body));
  EXPECT_EQ(stream.SendUntil(0, Soon()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(stream.broken().ok());
  EXPECT_GT(stream.unsent(), 0u);
  std::thread reader([peer = LanePeer(std::move(server)), &body]() mutable {
    EXPECT_TRUE(peer.Read()->body == body);
  });
  EXPECT_TRUE(stream.SendUntil(0, Late()).ok());
  reader.join();
}

TEST(FrameStreamTest, AClosedPeerIsUnavailable) {
  for (const bool reading : {true, false}) {
    auto [client, server] = SocketPair();
    FrameStream stream(std::move(client));
    server.Reset();
    stream.Queue(LaneKind::kHeartbeat, {});
    const absl::Status status =
        reading ? stream.Receive(Late(), nullptr).status() : stream.SendUntil(0, Late());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(stream.broken(), status);
  }
}

TEST(FrameStreamTest, AFrameCutShortByTheEndIsUnavailable) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  LanePeer peer(std::move(server));
  peer.Write(LanePeer::Frame(LaneKind::kHeartbeat, "12345").substr(0, 10));
  peer.Close();
  EXPECT_EQ(stream.Receive(Late(), nullptr).status().code(), absl::StatusCode::kUnavailable);
}

TEST(FrameStreamTest, GarbageIsRefusedWithWhatWasFound) {
  struct Case {
    LaneFrame frame;
    const char* expected;
  };
  const Case cases[] = {
      {{0, 99, 0}, "unknown kind 99"},
      {{0, 6, 1}, "reserved"},
      {{kMaxLaneBody + 1, 6, 0}, "1048577"},
  };
  for (const Case& c : cases) {
    auto [client, server] = SocketPair();
    FrameStream stream(std::move(client));
    LanePeer peer(std::move(server));
    peer.Write({reinterpret_cast<const char*>(&c.frame), sizeof c.frame});
    const absl::Status status = stream.Receive(Late(), nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.ToString(), HasSubstr(c.expected));
  }
}

TEST(FrameStreamTest, MoreThanOneReplyIsRefused) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  LanePeer peer(std::move(server));
  const std::string frame = LanePeer::Frame(LaneKind::kHeartbeat, "");
  peer.Write(frame + frame);
  EXPECT_EQ(stream.Receive(Late(), nullptr).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FrameStreamTest, QuietMeansOpenWithNothingToRead) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  EXPECT_TRUE(stream.CheckQuiet().ok());
  LanePeer peer(std::move(server));
  peer.Write("?");
  EXPECT_EQ(stream.CheckQuiet().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FrameStreamTest, QuietNoticesTheEnd) {
  auto [client, server] = SocketPair();
  FrameStream stream(std::move(client));
  server.Reset();
  EXPECT_EQ(stream.CheckQuiet().code(), absl::StatusCode::kUnavailable);
}

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST(FrameStreamTest, ADescriptorIsTakenOrClosed) {
  const UniqueFd file(::memfd_create("given", MFD_CLOEXEC));
  ASSERT_TRUE(file.valid());
  const int before = OpenDescriptors();
  for (const bool wanted : {true, false}) {
    auto [client, server] = SocketPair();
    FrameStream stream(std::move(client));
    LanePeer peer(std::move(server));
    peer.Send(LaneKind::kHeartbeat, "", file.get());
    UniqueFd taken;
    ASSERT_TRUE(stream.Receive(Late(), wanted ? &taken : nullptr).ok());
    EXPECT_EQ(taken.valid(), wanted);
    if (wanted) {
      EXPECT_NE(::fcntl(taken.get(), F_GETFD) & FD_CLOEXEC, 0);
    }
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace dunlin
