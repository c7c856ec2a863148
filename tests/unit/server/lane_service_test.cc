#include "server/lane_service.h"

#include <cstring>

#include "common/base/random.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

class LaneServiceTest : public CoreFixture {
 protected:
  LaneServiceTest() { peer_ = {.pid = 42, .can_be_fenced = true}; }

  LaneResult Send(LaneKind kind, std::string_view body) {
    output_ = {};
    return ApplyLaneMessage(*core_, peer_, kind, std::as_bytes(std::span(body)), output_);
  }
  template <typename Message>
  LaneResult SendFixed(LaneKind kind, const Message& message, std::string_view more = "") {
    std::string body(reinterpret_cast<const char*>(&message), sizeof message);
    body += more;
    return Send(kind, body);
  }
  LaneResult SendControl(const control::ControlRequest& request) {
    return Send(LaneKind::kControlRequest, request.SerializeAsString());
  }

  // The only reply, of that kind.
  std::string Reply(LaneKind kind) {
    LaneFrame frame{};
    EXPECT_GE(output_.bytes.size(), sizeof frame);
    if (output_.bytes.size() < sizeof frame) return "";
    std::memcpy(&frame, output_.bytes.data(), sizeof frame);
    EXPECT_EQ(WhyNotAFrame(frame), "");
    EXPECT_EQ(frame.kind, static_cast<uint16_t>(kind));
    EXPECT_EQ(output_.bytes.size(), sizeof frame + frame.bytes);
    return output_.bytes.substr(sizeof frame);
  }
  control::ControlReply ControlReply() {
    control::ControlReply reply;
    EXPECT_TRUE(reply.ParseFromString(Reply(LaneKind::kControlReply)));
    return reply;
  }

  control::ControlReply Hello(bool read_only = false, uint32_t version = kLayoutVersion) {
    control::ControlRequest request;
    request.mutable_hello()->set_layout_version(version);
    request.mutable_hello()->set_client_release("9.9.9");
    request.mutable_hello()->set_client_name("tester");
    request.mutable_hello()->set_read_only(read_only);
    EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
    return ControlReply();
  }
  std::vector<uint64_t> TakeSome(uint32_t want) {
    EXPECT_EQ(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{10, want, 0, 0}).verdict,
              LaneVerdict::kNext);
    std::string body = Reply(LaneKind::kBlocksReply);
    BlocksReply reply{};
    std::memcpy(&reply, body.data(), sizeof reply);
    EXPECT_EQ(WhyNotValid(reply, body.size()), "");
    std::vector<uint64_t> words(reply.count);
    std::memcpy(words.data(), body.data() + sizeof reply, words.size() * 8);
    return words;
  }
  void ExpectClosed(const LaneResult& result) {
    EXPECT_EQ(result.verdict, LaneVerdict::kClose);
    EXPECT_FALSE(result.why.empty());
    EXPECT_EQ(output_.bytes, "");
  }

  LanePeer peer_;
  LaneOutput output_;
};

TEST_F(LaneServiceTest, HelloOpensASessionAndSendsTheRegion) {
  control::ControlReply reply = Hello();
  EXPECT_EQ(reply.code(), 0u);
  EXPECT_EQ(reply.hello().session_id(), 1u);
  EXPECT_EQ(reply.hello().incarnation(), 7u);
  EXPECT_EQ(reply.hello().region_bytes(), plan_.region_bytes);
  EXPECT_EQ(reply.hello().server_pid(), 77u);
  ASSERT_TRUE(output_.region);
  EXPECT_EQ(output_.region->position, 0u);
  EXPECT_FALSE(output_.region->read_only);
  EXPECT_EQ(peer_.session, 1u);
}

TEST_F(LaneServiceTest, HelloForReading) {
  Hello(true);
  ASSERT_TRUE(output_.region);
  EXPECT_TRUE(output_.region->read_only);
}

TEST_F(LaneServiceTest, AnotherLayoutVersionIsRefusedWithBothNumbers) {
  control::ControlReply reply = Hello(false, kLayoutVersion + 1);
  EXPECT_EQ(reply.code(), static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
  EXPECT_NE(reply.message().find("has " + std::to_string(kLayoutVersion)), std::string::npos);
  EXPECT_NE(reply.message().find("has " + std::to_string(kLayoutVersion + 1)), std::string::npos);
  EXPECT_FALSE(output_.region);
  EXPECT_EQ(peer_.session, 0u);
  EXPECT_EQ(core_->OpenSessions(), 0u);
}

TEST_F(LaneServiceTest, AClientThatCannotBeFencedIsRefused) {
  peer_.can_be_fenced = false;
  EXPECT_NE(Hello().code(), 0u);
  EXPECT_FALSE(output_.region);
}

TEST_F(LaneServiceTest, ASecondHelloIsRefusedAndTheSessionStays) {
  Hello();
  EXPECT_NE(Hello().code(), 0u);
  EXPECT_FALSE(output_.region);
  EXPECT_EQ(peer_.session, 1u);
  EXPECT_EQ(core_->OpenSessions(), 1u);
}

TEST_F(LaneServiceTest, NoSessionsLeft) {
  for (int i = 0; i < 8; ++i) Open();
  control::ControlReply reply = Hello();
  EXPECT_EQ(reply.code(), static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
}

TEST_F(LaneServiceTest, PingAndStatusNeedNoSession) {
  control::ControlRequest request;
  request.mutable_ping();
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
  EXPECT_EQ(ControlReply().ping().tick(), core_->tick());
  request.mutable_status();
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
  EXPECT_EQ(ControlReply().status().server_release(), "1.2.3");
}

TEST_F(LaneServiceTest, ACountedStatusComesLater) {
  control::ControlRequest request;
  request.mutable_status()->set_count_index(true);
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kLater);
  EXPECT_EQ(output_.bytes, "");
  Settle();
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
  EXPECT_TRUE(ControlReply().status().counted());
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kLater) << "each asks for a fresh one";
}

TEST_F(LaneServiceTest, ASweptStatusComesAfterTheSweep) {
  Hello();
  const std::vector<uint64_t> words = TakeSome(3);
  ASSERT_TRUE(core_->Resolve(peer_.session, 1));
  control::ControlRequest request;
  request.mutable_status()->set_sweep(true);
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kLater);
  for (int turn = 0; turn < 20; ++turn) {
    RunPatrol();
    Pass(kGrace / 4);
    if (SendControl(request).verdict == LaneVerdict::kNext) break;
  }
  EXPECT_EQ(ControlReply().status().swept_blocks(), 3u);
  EXPECT_FALSE(pool().Find(SlotWord(words[0])));
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kLater) << "each asks for a fresh one";
}

TEST_F(LaneServiceTest, SweptAndCounted) {
  control::ControlRequest request;
  request.mutable_status()->set_sweep(true);
  request.mutable_status()->set_count_index(true);
  LaneVerdict verdict = LaneVerdict::kLater;
  for (int turn = 0; turn < 40 && verdict == LaneVerdict::kLater; ++turn) {
    verdict = SendControl(request).verdict;
    RunPatrol();
    Pass(kGrace / 4);
  }
  ASSERT_EQ(verdict, LaneVerdict::kNext);
  EXPECT_TRUE(ControlReply().status().counted());
  EXPECT_EQ(core_->patrol().figures().sweeps, 1u);
}

TEST_F(LaneServiceTest, ALockIsExamined) {
  Hello();
  const uint64_t lock = HoldLock(3, 4'000'000);
  EXPECT_EQ(SendFixed(LaneKind::kExamineLock, ExamineLock{lock, HeaderAt(lock).raw()}).verdict,
            LaneVerdict::kNext);
  EXPECT_EQ(Reply(LaneKind::kLockExamined), "");
  EXPECT_FALSE(HeaderAt(lock).held());
  ExpectClosed(SendFixed(LaneKind::kExamineLock, ExamineLock{plan_.heap_offset, 0}));
  ExpectClosed(SendFixed(LaneKind::kExamineLock, ExamineLock{lock + 8, 0}));
  ExpectClosed(SendFixed(LaneKind::kExamineLock, ExamineLock{~uint64_t{0}, ~uint64_t{0}}));
}

TEST_F(LaneServiceTest, AGrowRequestIsAnswered) {
  Hello();
  const auto ask = [this](uint32_t position, uint32_t depth) {
    EXPECT_EQ(SendFixed(LaneKind::kGrowRequest, GrowRequest{position, depth}).verdict,
              LaneVerdict::kNext);
    const std::string body = Reply(LaneKind::kGrowReply);
    GrowReply reply{};
    std::memcpy(&reply, body.data(), std::min(body.size(), sizeof reply));
    EXPECT_EQ(WhyNotValid(reply, body.size()), "");
    return static_cast<GrowOutcome>(reply.outcome);
  };
  EXPECT_EQ(ask(0, 0), GrowOutcome::kFull) << "it is empty";
  for (uint64_t slot = 0; slot < 1024 * kSlotsPerBucket / 2; ++slot) {
    Link(Slot(slot % 1024, static_cast<uint32_t>(slot / 1024)), uint64_t{10} << 21);
  }
  EXPECT_EQ(ask(4711, 0), GrowOutcome::kGrows);
  ExpectClosed(SendFixed(LaneKind::kGrowRequest, GrowRequest{1u << kMaxDirectoryDepth, 0}));
  ExpectClosed(SendFixed(LaneKind::kGrowRequest, GrowRequest{0, kMaxDirectoryDepth + 1}));
  ExpectClosed(SendFixed(LaneKind::kGrowRequest, GrowRequest{0, 0}, "x"));
}

TEST_F(LaneServiceTest, AReadOnlySessionMayWaitForALockButNotGrowTheIndex) {
  Hello(true);
  const uint64_t lock = HoldLock(3, 4'000'000);
  EXPECT_EQ(SendFixed(LaneKind::kExamineLock, ExamineLock{lock, HeaderAt(lock).raw()}).verdict,
            LaneVerdict::kNext);
  ExpectClosed(SendFixed(LaneKind::kGrowRequest, GrowRequest{0, 0}));
}

TEST_F(LaneServiceTest, BlocksReturnsAndGoodbye) {
  Hello();
  std::vector<uint64_t> words = TakeSome(3);
  ASSERT_EQ(words.size(), 3u);
  std::vector<ReturnedBlock> returned;
  for (uint64_t word : words) returned.push_back({word, 0});
  std::string more(reinterpret_cast<const char*>(returned.data()), 3 * sizeof(ReturnedBlock));
  EXPECT_EQ(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{3, 0, 1}, more).verdict,
            LaneVerdict::kNext);
  EXPECT_EQ(output_.bytes, "") << "no reply";
  control::ControlRequest request;
  request.mutable_goodbye();
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
  EXPECT_TRUE(ControlReply().has_goodbye());
  EXPECT_EQ(peer_.session, 0u);
  Pass(kGrace);
  EXPECT_EQ(pool().free_bytes(), plan_.heap_bytes);
}

TEST_F(LaneServiceTest, Heartbeat) {
  Hello();
  EXPECT_EQ(Send(LaneKind::kHeartbeat, "").verdict, LaneVerdict::kNext);
  EXPECT_EQ(Reply(LaneKind::kHeartbeat), "");
  ExpectClosed(Send(LaneKind::kHeartbeat, "x"));
}

TEST_F(LaneServiceTest, NothingButControlBeforeASession) {
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{10, 1, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{0, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kExpireRequest, ExpireRequest{0, 0}));
  ExpectClosed(SendFixed(LaneKind::kExamineLock, ExamineLock{plan_.index_offset, 0}));
  ExpectClosed(SendFixed(LaneKind::kGrowRequest, GrowRequest{0, 0}));
  ExpectClosed(Send(LaneKind::kHeartbeat, ""));
  control::ControlRequest request;
  request.mutable_goodbye();
  ExpectClosed(SendControl(request));
}

TEST_F(LaneServiceTest, HostileBodies) {
  Hello();
  for (size_t bytes : {0u, 1u, 15u, 23u, 25u, 4096u}) {
    std::string body(bytes, '\xFF');
    ExpectClosed(Send(LaneKind::kBlocksRequest, body));
    ExpectClosed(Send(LaneKind::kReturnBlocks, body));
    ExpectClosed(Send(LaneKind::kExpireRequest, body));
    ExpectClosed(Send(LaneKind::kExamineLock, body));
    ExpectClosed(Send(LaneKind::kGrowRequest, body));
  }
  ExpectClosed(Send(LaneKind::kControlRequest, "\xFF\xFF\xFF"));
  for (LaneKind kind : {LaneKind::kControlReply, LaneKind::kBlocksReply, LaneKind::kExpireReply,
                        LaneKind::kLockExamined, LaneKind::kGrowReply}) {
    ExpectClosed(Send(kind, ""));
  }
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{0, 1, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{78, 1, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{~0u, 1, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{10, 0, 0, 0}));
  ExpectClosed(
      SendFixed(LaneKind::kBlocksRequest, BlocksRequest{10, kMaxBlocksPerBatch + 1, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{127, 1, ~uint64_t{0}, 0}));
  ExpectClosed(SendFixed(LaneKind::kBlocksRequest, BlocksRequest{10, 1, 0, 1}));  // no such batch
  ExpectClosed(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{~0u, 0, 0}));
  ExpectClosed(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{0, 0, ~uint64_t{0}}));
  ExpectClosed(SendFixed(LaneKind::kExpireRequest, ExpireRequest{4, 0}));
  ExpectClosed(SendFixed(LaneKind::kExpireRequest, ExpireRequest{0, ~uint64_t{0}}));
  EXPECT_EQ(pool().free_bytes(), plan_.heap_bytes);
}

TEST_F(LaneServiceTest, AnEmptyControlRequestIsAnswered) {
  EXPECT_EQ(Send(LaneKind::kControlRequest, "").verdict, LaneVerdict::kNext);
  EXPECT_EQ(ControlReply().code(), static_cast<uint32_t>(absl::StatusCode::kUnimplemented));
}

TEST_F(LaneServiceTest, AReadOnlySessionCannotFreeWhatOthersStored) {
  uint32_t other = Open();
  auto blocks = Take(other, 100, 1);
  Hello(true);
  ReturnedBlock stolen{blocks.words[0], 0};
  ExpectClosed(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{1, 0, 0},
                         {reinterpret_cast<const char*>(&stolen), sizeof stolen}));
  EXPECT_TRUE(pool().Find(SlotWord(blocks.words[0])));
}

TEST_F(LaneServiceTest, ReturnsThatAreNotTheirsAreCountedAndHarmless) {
  Hello();
  Random random(1);
  std::string more;
  for (int i = 0; i < 1000; ++i) {
    ReturnedBlock block{random.Next(), 0};
    more.append(reinterpret_cast<const char*>(&block), sizeof block);
  }
  EXPECT_EQ(SendFixed(LaneKind::kReturnBlocks, ReturnBlocks{1000, 0, 0}, more).verdict,
            LaneVerdict::kNext);
  EXPECT_EQ(core_->allocator().returns_refused(), 1000u);
  EXPECT_EQ(pool().Audit(), "");
}

TEST_F(LaneServiceTest, ALongNameIsCut) {
  control::ControlRequest request;
  request.mutable_hello()->set_layout_version(kLayoutVersion);
  request.mutable_hello()->set_client_name(std::string(100'000, 'n'));
  EXPECT_EQ(SendControl(request).verdict, LaneVerdict::kNext);
  EXPECT_LE(core_->sessions().all().begin()->second->client_name.size(), 128u);
}

}  // namespace
}  // namespace dunlin
