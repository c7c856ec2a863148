#include "common/fabric/tcp/tcp_connection.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/chain_frames.h"
#include "common/fabric/on_mapping.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr uint64_t kRegionBytes = 4096;
constexpr int64_t kMilli = 1'000'000;

Deadline Late() { return Deadline::After(std::chrono::milliseconds(20'000)); }
Deadline Soon() { return Deadline::After(std::chrono::milliseconds(30)); }

Bytes FrameOf(LaneKind kind, std::span<const std::byte> body) {
  LaneFrame frame{};
  frame.bytes = static_cast<uint32_t>(body.size());
  frame.kind = static_cast<uint16_t>(kind);
  Bytes bytes(sizeof frame + body.size());
  std::memcpy(bytes.data(), &frame, sizeof frame);
  if (!body.empty()) std::memcpy(bytes.data() + sizeof frame, body.data(), body.size());
  return bytes;
}

// A connection to a peer whose part the test plays.
class TcpConnectionTest : public ::testing::Test {
 protected:
  TcpConnectionTest() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    connection_ = std::make_unique<TcpConnection>(UniqueFd(fds[0]));
    peer_.Reset(fds[1]);
    RegionAccess access;
    access.region_bytes = kRegionBytes;
    channel_ = connection_->OpenChannel(access);
  }

  void Say(std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The bodies of the chain requests that have come. All frames must be such.
  std::vector<Bytes> Requests() {
    std::byte buffer[65'536];
    for (ssize_t n; (n = ::recv(peer_.get(), buffer, sizeof buffer, 0)) > 0;) {
      received_.insert(received_.end(), buffer, buffer + n);
    }
    std::vector<Bytes> bodies;
    LaneFrame frame;
    while (received_.size() >= sizeof frame) {
      std::memcpy(&frame, received_.data(), sizeof frame);
      if (received_.size() < sizeof frame + frame.bytes) break;
      EXPECT_EQ(static_cast<LaneKind>(frame.kind), LaneKind::kChainRequest);
      const auto body = received_.begin() + sizeof frame;
      bodies.emplace_back(body, body + frame.bytes);
      received_.erase(received_.begin(), body + frame.bytes);
    }
    return bodies;
  }
  // What the server says to one.
  Bytes ReplyTo(const Bytes& request) {
    ReceivedChain received;
    EXPECT_EQ(ParseChainRequest(request, kRegionBytes, false, &received), "");
    Bytes reply(received.reply_bytes);
    PlaceChainReply(received, reply);
    ExecuteChain(received.chain, region_.data());
    FinishChainReply(received, reply);
    return FrameOf(LaneKind::kChainReply, reply);
  }
  // Posts reads of the words 0, 1, ... and takes the requests.
  std::vector<Bytes> PostReads(std::vector<Chain>& chains) {
    for (size_t i = 0; i < chains.size(); ++i) {
      SetWord(i, 100 + i);
      chains[i].ReadWord(8 * i);
      channel_->Post(&chains[i]);
    }
    Chain* none = nullptr;
    EXPECT_EQ(channel_->Poll(&none, 1), 0u);
    std::vector<Bytes> requests = Requests();
    EXPECT_EQ(requests.size(), chains.size());
    return requests;
  }
  void SetWord(size_t i, uint64_t word) { std::memcpy(region_.data() + 8 * i, &word, 8); }
  std::vector<Chain*> Poll(uint32_t max = 64) {
    std::vector<Chain*> taken(max);
    taken.resize(channel_->Poll(taken.data(), max));
    return taken;
  }
  // All that is in flight comes back as unknown, for this reason.
  void ExpectBroken(absl::StatusCode code, const std::string& why, size_t unknown) {
    const auto taken = Poll();
    EXPECT_EQ(taken.size(), unknown);
    for (const Chain* each : taken) EXPECT_EQ(each->outcome, ChainOutcome::kUnknown);
    EXPECT_EQ(channel_->broken().code(), code) << channel_->broken();
    EXPECT_THAT(channel_->broken().ToString(), HasSubstr(why));
    EXPECT_EQ(connection_->broken(), channel_->broken());
    Chain later;
    later.ReadWord(0);
    channel_->Post(&later);
    EXPECT_EQ(Poll().size(), 1u);
    EXPECT_EQ(later.outcome, ChainOutcome::kNotExecuted);
  }

  alignas(8) Bytes region_ = Bytes(kRegionBytes);
  UniqueFd peer_;
  Bytes received_;
  std::unique_ptr<TcpConnection> connection_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(TcpConnectionTest, AChainThatTheLaneSentComesBack) {
  Chain first;
  first.ReadWord(0);
  channel_->Post(&first);
  ASSERT_TRUE(connection_->SendUntil(0, Late()).ok());
  std::vector<Bytes> requests = Requests();
  ASSERT_EQ(requests.size(), 1u);
  Say(ReplyTo(requests[0]));
  EXPECT_EQ(Poll().size(), 1u);
  // And again, with another one posted meanwhile.
  Chain second;
  Chain third;
  second.ReadWord(0);
  third.ReadWord(8);
  channel_->Post(&second);
  ASSERT_TRUE(connection_->SendUntil(0, Late()).ok());
  channel_->Post(&third);
  size_t back = Poll().size();
  for (const Bytes& each : Requests()) Say(ReplyTo(each));
  back += Poll().size();
  EXPECT_EQ(back, 2u);
}

TEST_F(TcpConnectionTest, RepliesThatComeByteByByte) {
  std::vector<Chain> chains(3);
  Bytes replies;
  for (const Bytes& each : PostReads(chains)) {
    const Bytes reply = ReplyTo(each);
    replies.insert(replies.end(), reply.begin(), reply.end());
  }
  size_t back = 0;
  const size_t one = replies.size() / 3;
  for (size_t i = 0; i < replies.size(); ++i) {
    Say(std::span(replies).subspan(i, 1));
    back += Poll().size();
    ASSERT_EQ(back, (i + 1) / one);
  }
  for (size_t i = 0; i < chains.size(); ++i) {
    EXPECT_EQ(chains[i].outcome, ChainOutcome::kDone);
    EXPECT_EQ(chains[i].work[0].result, 100 + i);
  }
}

TEST_F(TcpConnectionTest, RefusedChainsAreNotSentAndTakeNoReply) {
  Chain good[2], bad;
  good[0].ReadWord(0);
  bad.ReadWord(kRegionBytes);
  good[1].ReadWord(8);
  SetWord(0, 7);
  SetWord(1, 8);
  for (Chain* each : {&good[0], &bad, &good[1]}) channel_->Post(each);
  EXPECT_TRUE(Poll().empty());
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 2u);
  Say(ReplyTo(requests[0]));
  EXPECT_EQ(Poll(), (std::vector<Chain*>{&good[0], &bad}));
  Say(ReplyTo(requests[1]));
  EXPECT_EQ(Poll(), (std::vector<Chain*>{&good[1]}));
  EXPECT_EQ(bad.outcome, ChainOutcome::kNotExecuted);
  EXPECT_EQ(good[0].work[0].result, 7u);
  EXPECT_EQ(good[1].work[0].result, 8u);
}

// The refused one is handed back before it is its turn to be answered.
TEST_F(TcpConnectionTest, ARefusedChainInFrontOfOthers) {
  for (int round = 0; round < 200; ++round) {
    Chain bad, good;
    bad.ReadWord(4);
    good.ReadWord(0);
    channel_->Post(&bad);
    EXPECT_EQ(Poll(1), (std::vector<Chain*>{&bad}));
    channel_->Post(&good);
    EXPECT_TRUE(Poll().empty());
    const auto requests = Requests();
    ASSERT_EQ(requests.size(), 1u);
    Say(ReplyTo(requests[0]));
    EXPECT_EQ(Poll(), (std::vector<Chain*>{&good}));
    EXPECT_EQ(good.outcome, ChainOutcome::kDone);
  }
}

TEST_F(TcpConnectionTest, TooManyReplies) {
  std::vector<Chain> chains(1);
  const auto requests = PostReads(chains);
  Say(ReplyTo(requests[0]));
  Say(ReplyTo(requests[0]));
  const auto taken = Poll();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(chains[0].outcome, ChainOutcome::kDone) << "the first reply was good";
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "a chain that was not sent", 0);
}

TEST_F(TcpConnectionTest, AReplyOfAnotherLength) {
  std::vector<Chain> chains(3);
  PostReads(chains);
  Say(FrameOf(LaneKind::kChainReply, Bytes(sizeof(ChainReply) + 16)));
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "expected 16 bytes, found 24", 3);
}

// As if two replies had changed places.
TEST_F(TcpConnectionTest, RepliesOutOfOrderThatDontFit) {
  Chain word, range;
  Bytes sink(24);
  word.ReadWord(0);
  range.Read(0, 24, 0).sink = sink.data();
  channel_->Post(&word);
  channel_->Post(&range);
  EXPECT_TRUE(Poll().empty());
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 2u);
  Say(ReplyTo(requests[1]));
  Say(ReplyTo(requests[0]));
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "chain reply", 2);
  EXPECT_EQ(sink, Bytes(24));
}

TEST_F(TcpConnectionTest, AnOutcomeThatDoesNotExist) {
  std::vector<Chain> chains(2);
  PostReads(chains);
  Bytes body(sizeof(ChainReply) + 8);
  body[0] = std::byte{3};
  Say(FrameOf(LaneKind::kChainReply, body));
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "outcome 3", 2);
}

TEST_F(TcpConnectionTest, Garbage) {
  std::vector<Chain> chains(2);
  PostReads(chains);
  const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
  Say(std::as_bytes(std::span(text)));
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "not the lane protocol", 2);
}

TEST_F(TcpConnectionTest, AFrameThatNobodyAskedFor) {
  std::vector<Chain> chains(1);
  PostReads(chains);
  Say(FrameOf(LaneKind::kHeartbeat, {}));
  ExpectBroken(absl::StatusCode::kFailedPrecondition, "nobody asked for", 1);
}

TEST_F(TcpConnectionTest, TheEndInTheMiddleOfAFrame) {
  std::vector<Chain> chains(3);
  const auto requests = PostReads(chains);
  Say(ReplyTo(requests[0]));
  const Bytes reply = ReplyTo(requests[1]);
  Say(std::span(reply).first(reply.size() - 1));
  peer_.Reset();
  const auto taken = Poll(1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(chains[0].outcome, ChainOutcome::kDone) << "what came before the end counts";
  ExpectBroken(absl::StatusCode::kUnavailable, "closed the connection", 2);
  EXPECT_EQ(chains[1].work[0].result, 0u);
}

TEST_F(TcpConnectionTest, LaneFramesBetweenReplies) {
  std::vector<Chain> chains(3);
  const auto requests = PostReads(chains);
  Say(ReplyTo(requests[0]));
  Say(FrameOf(LaneKind::kHeartbeat, {}));
  Say(ReplyTo(requests[1]));
  connection_->Queue(LaneKind::kHeartbeat, {}, {});
  const auto frame = connection_->Receive(Late(), nullptr);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, LaneKind::kHeartbeat);
  EXPECT_TRUE(connection_->CheckQuiet().ok());
  Say(ReplyTo(requests[2]));
  EXPECT_EQ(Poll().size(), 3u);
  for (size_t i = 0; i < chains.size(); ++i) EXPECT_EQ(chains[i].work[0].result, 100 + i);
}

TEST_F(TcpConnectionTest, CheckQuietSeesAFrameBehindReplies) {
  std::vector<Chain> chains(1);
  const auto requests = PostReads(chains);
  Say(ReplyTo(requests[0]));
  EXPECT_TRUE(connection_->CheckQuiet().ok());
  Say(FrameOf(LaneKind::kHeartbeat, {}));
  EXPECT_EQ(connection_->CheckQuiet().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Poll().size(), 1u);
  EXPECT_EQ(chains[0].outcome, ChainOutcome::kDone);
}

TEST_F(TcpConnectionTest, ALateLaneReplyBreaksTheChannel) {
  std::vector<Chain> chains(2);
  PostReads(chains);
  connection_->Queue(LaneKind::kHeartbeat, {}, {});
  EXPECT_EQ(connection_->Receive(Soon(), nullptr).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ExpectBroken(absl::StatusCode::kDeadlineExceeded, "in time", 2);
}

TEST_F(TcpConnectionTest, NothingIsWrittenAfterTheHandBack) {
  Bytes sink(64);
  Chain chain;
  chain.Read(0, 64, 0).sink = sink.data();
  channel_->Post(&chain);
  EXPECT_TRUE(Poll().empty());
  std::fill(region_.begin(), region_.end(), std::byte{9});
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 1u);
  channel_->Break(absl::UnavailableError("enough"));
  EXPECT_EQ(Poll().size(), 1u);
  EXPECT_EQ(chain.outcome, ChainOutcome::kUnknown);
  Say(ReplyTo(requests[0]));
  EXPECT_TRUE(Poll().empty());
  connection_->CheckQuiet().IgnoreError();
  EXPECT_EQ(sink, Bytes(64));
  EXPECT_EQ(chain.outcome, ChainOutcome::kUnknown);
}

// The connection goes on as a lane when its channel is gone; replies on their way are dropped.
TEST_F(TcpConnectionTest, RepliesAfterTheChannelIsGone) {
  Bytes sink(64);
  Chain chain;
  chain.Read(0, 64, 0).sink = sink.data();
  channel_->Post(&chain);
  EXPECT_TRUE(Poll().empty());
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 1u);
  std::fill(region_.begin(), region_.end(), std::byte{9});
  channel_.reset();
  Say(ReplyTo(requests[0]));
  Say(FrameOf(LaneKind::kHeartbeat, {}));
  const auto frame = connection_->Receive(Late(), nullptr);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, LaneKind::kHeartbeat);
  EXPECT_EQ(sink, Bytes(64));
}

// What is to be sent goes on while nobody reads, and a peer that takes nothing blocks nobody.
TEST_F(TcpConnectionTest, APeerThatTakesNothing) {
  constexpr uint32_t kChains = TcpChannel::kDepth;
  std::vector<Chain> chains(kChains);
  const Bytes content(kRegionBytes, std::byte{1});
  for (Chain& each : chains) {
    for (uint32_t i = 0; i < kMaxWorks; ++i) each.Write(0, 0, 0, content.data(), kRegionBytes);
    channel_->Post(&each);
  }
  EXPECT_TRUE(Poll().empty());
  EXPECT_GT(connection_->unsent(), 0u);
  channel_->WaitFor(kMilli);
  size_t served = 0;
  for (int turn = 0; turn < 10'000 && served < kChains; ++turn) {
    for (const Bytes& each : Requests()) {
      Say(ReplyTo(each));
      ++served;
    }
    EXPECT_TRUE(connection_->SendNow().ok());
  }
  EXPECT_EQ(served, kChains);
  EXPECT_EQ(Poll().size(), kChains);
}

TEST_F(TcpConnectionTest, WaitForEndsWithAReply) {
  std::vector<Chain> chains(1);
  const auto requests = PostReads(chains);
  const SystemClock clock;
  int64_t before = clock.NowNanos();
  channel_->WaitFor(20 * kMilli);
  EXPECT_GE(clock.NowNanos() - before, 15 * kMilli) << "nothing had come";
  Say(ReplyTo(requests[0]));
  before = clock.NowNanos();
  channel_->WaitFor(20'000 * kMilli);
  EXPECT_LT(clock.NowNanos() - before, 5'000 * kMilli);
  EXPECT_EQ(Poll().size(), 1u);
}

}  // namespace
}  // namespace dunlin
