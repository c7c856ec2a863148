#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "client/lane/lane.h"
#include "common/layout/slot.h"
#include "common/layout/superblock.h"
#include "tests/unit/client/lane_peer_testing.h"

namespace dunlin {
namespace {

using control::ControlReply;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Deadline Late() { return Deadline::After(milliseconds(20'000)); }
Deadline Soon() { return Deadline::After(milliseconds(30)); }

constexpr SizeClass kClass = 10;

uint64_t Word(uint64_t offset, SizeClass size_class = kClass, uint32_t fingerprint = 0) {
  return SlotWord::Make(offset, size_class, fingerprint, 3).raw();
}

BlocksReply Ok(uint32_t count) {
  return {static_cast<uint32_t>(BlocksOutcome::kOk), count, 7, 1000, 100};
}

TEST(LaneHelloTest, SaysWhoItIsAndTakesTheWelcome) {
  const UniqueFd region(::memfd_create("region", MFD_CLOEXEC));
  ScriptedServer server([&](LanePeer& peer) {
    const control::ControlRequest request = peer.ReadControl();
    EXPECT_EQ(request.hello().layout_version(), kLayoutVersion);
    EXPECT_EQ(request.hello().client_name(), "tester");
    EXPECT_TRUE(request.hello().read_only());
    EXPECT_FALSE(request.hello().client_release().empty());
    ControlReply reply;
    control::HelloReply& hello = *reply.mutable_hello();
    hello.set_session_id(5);
    hello.set_session_word(4);
    hello.set_incarnation(77);
    hello.set_region_bytes(1 << 20);
    hello.set_server_release("1.2.3");
    hello.set_server_pid(42);
    hello.set_huge_pages(true);
    peer.SendControl(reply, region.get());
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  const auto welcome = lane.Hello({"tester", true}, Late());
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->session_id, 5u);
  EXPECT_EQ(welcome->session_word, 4u);
  EXPECT_EQ(welcome->incarnation, 77u);
  EXPECT_EQ(welcome->region_bytes, 1u << 20);
  EXPECT_EQ(welcome->server_release, "1.2.3");
  EXPECT_EQ(welcome->server_pid, 42u);
  EXPECT_TRUE(welcome->huge_pages);
  EXPECT_TRUE(welcome->region.valid());
}

TEST(LaneHelloTest, ARefusalComesWithTheServersWordsAndLeavesTheLane) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.ReadControl();
    ControlReply refusal;
    refusal.set_code(static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
    refusal.set_message("layout version: expected 2, found 1");
    peer.SendControl(refusal);
    peer.ReadControl();
    ControlReply pong;
    pong.mutable_ping()->set_tick(9);
    peer.SendControl(pong);
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  const absl::Status status = lane.Hello({"tester", false}, Late()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("expected 2, found 1"));
  const auto pong = lane.Ping(Late());
  ASSERT_TRUE(pong.ok()) << pong.status();
  EXPECT_EQ(pong->tick(), 9u);
}

TEST(LaneHelloTest, AWelcomeThatCannotBeIsRefused) {
  const UniqueFd region(::memfd_create("region", MFD_CLOEXEC));
  struct Case {
    uint32_t session_id;
    int descriptor;
    const char* expected;
  };
  const Case cases[] = {{0, region.get(), "found 0"}, {1u << 24, region.get(), "found 16777216"}};
  for (const Case& c : cases) {
    ScriptedServer server([&](LanePeer& peer) {
      peer.ReadControl();
      ControlReply reply;
      reply.mutable_hello()->set_session_id(c.session_id);
      peer.SendControl(reply, c.descriptor);
      peer.WaitForClose();
    });
    Lane lane(server.TakeClient());
    const absl::Status status = lane.Hello({"tester", false}, Late()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.ToString(), HasSubstr(c.expected));
    EXPECT_EQ(lane.broken(), status);
  }
}

TEST(LaneControlTest, AnotherReplyThanAskedForBreaksTheLane) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.ReadControl();
    ControlReply reply;
    reply.mutable_goodbye();
    peer.SendControl(reply);
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.Status({}, Late()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(lane.broken().ok());
  EXPECT_TRUE(lane.HungUp());
}

TEST(LaneControlTest, AnUnknownCodeIsNotTakenForOk) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.ReadControl();
    ControlReply reply;
    reply.set_code(4711);
    peer.SendControl(reply);
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.Goodbye(Late()).code(), absl::StatusCode::kUnknown);
}

TEST(LaneBlocksTest, AskedForAndGot) {
  ScriptedServer server([&](LanePeer& peer) {
    const auto message = peer.Read();
    BlocksRequest request;
    ASSERT_TRUE(message.has_value());
    ASSERT_EQ(message->kind, LaneKind::kBlocksRequest);
    ASSERT_EQ(message->body.size(), sizeof request);
    std::memcpy(&request, message->body.data(), sizeof request);
    EXPECT_EQ(request.size_class, kClass);
    EXPECT_EQ(request.want, 3u);
    EXPECT_EQ(request.run_bytes, 0u);
    EXPECT_EQ(request.resolved_batch, 6u);
    peer.SendBlocks(Ok(2), std::vector<uint64_t>{Word(104), Word(208)});
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  const auto blocks = lane.RequestBlocks(kClass, 3, 0, 6, Late());
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(blocks->outcome, BlocksOutcome::kOk);
  EXPECT_EQ(blocks->batch, 7u);
  EXPECT_EQ(blocks->first_version, 1000u);
  EXPECT_EQ(blocks->version_count, 100u);
  EXPECT_THAT(blocks->words, ElementsAre(Word(104), Word(208)));
  EXPECT_EQ(lane.messages(), 1u);
}

TEST(LaneBlocksTest, MemoryFullIsAnAnswer) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.Read();
    peer.SendBlocks({static_cast<uint32_t>(BlocksOutcome::kMemoryFull), 0, 0, 0, 0}, {});
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  const auto blocks = lane.RequestBlocks(kClass, 3, 0, 0, Late());
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(blocks->outcome, BlocksOutcome::kMemoryFull);
  EXPECT_TRUE(blocks->words.empty());
  EXPECT_TRUE(lane.broken().ok());
}

TEST(LaneBlocksTest, WhatCannotBeIsRefused) {
  const auto kOk = static_cast<uint32_t>(BlocksOutcome::kOk);
  struct Case {
    BlocksReply reply;
    std::vector<uint64_t> words;
    const char* expected;
  };
  const Case cases[] = {
      {Ok(1), {Word(104, kClass + 1)}, "of class 11"},
      {Ok(1), {Word(104, kClass, 1)}, "block words of class 10"},
      {Ok(1), {Word(104) | SlotWord::kFrozenBit}, "block words of class 10"},
      {Ok(1), {0}, "of class 0"},
      {Ok(4), {Word(8), Word(16), Word(24), Word(32)}, "at most 3"},
      {Ok(2), {Word(8)}, "expected 48 bytes, found 40"},
      {{kOk, 0, 7, 1, 1}, {}, "with 0 blocks"},
      {{kOk, 1, 7, 0, 100}, {Word(8)}, "versions from 0"},
      {{kOk, 1, 7, ~uint64_t{0}, 100}, {Word(8)}, "versions from"},
      {{kOk, 2, 7, 1000, 1}, {Word(8), Word(16)}, "2 blocks and 1 versions"},
      {{1, 1, 7, 1000, 1}, {Word(8)}, "outcome 1 with 1 blocks"},
      {{9, 0, 0, 0, 0}, {}, "unknown outcome 9"},
  };
  for (const Case& c : cases) {
    ScriptedServer server([&](LanePeer& peer) {
      peer.Read();
      peer.SendBlocks(c.reply, c.words);
      peer.WaitForClose();
    });
    Lane lane(server.TakeClient());
    const absl::Status status = lane.RequestBlocks(kClass, 3, 0, 0, Late()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << c.expected;
    EXPECT_THAT(status.ToString(), HasSubstr(c.expected));
    EXPECT_FALSE(lane.broken().ok());
  }
}

TEST(LaneBlocksTest, AReplyThatIsTooShortIsRefused) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.Read();
    peer.Send(LaneKind::kBlocksReply, "1234");
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_THAT(lane.RequestBlocks(kClass, 1, 0, 0, Late()).status().ToString(),
              HasSubstr("at least 32 bytes, found 4"));
}

TEST(LaneBlocksTest, ALateReplyIsNeverTakenForTheNext) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.Read();
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.RequestBlocks(kClass, 1, 0, 0, Soon()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lane.broken().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lane.Expire(8, Word(8), Late()).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LaneReturnsTest, ArriveInOrderBeforeWhatIsAskedAfterwards) {
  std::vector<ReturnedBlock> got;
  std::vector<uint64_t> resolved;
  {
    ScriptedServer server([&](LanePeer& peer) {
      for (int i = 0; i < 2; ++i) {
        const auto message = peer.Read();
        ASSERT_EQ(message->kind, LaneKind::kReturnBlocks);
        ReturnBlocks fixed;
        std::memcpy(&fixed, message->body.data(), sizeof fixed);
        ASSERT_EQ(WhyNotValid(fixed, message->body.size()), "");
        resolved.push_back(fixed.resolved_batch);
        const size_t before = got.size();
        got.resize(before + fixed.count);
        std::memcpy(got.data() + before, message->body.data() + sizeof fixed,
                    fixed.count * sizeof(ReturnedBlock));
      }
      EXPECT_TRUE(peer.ReadControl().has_goodbye());
      ControlReply reply;
      reply.mutable_goodbye();
      peer.SendControl(reply);
      peer.WaitForClose();
    });
    Lane lane(server.TakeClient());
    const ReturnedBlock blocks[] = {{Word(8), 11}, {Word(16), 12}, {Word(24), 13}};
    EXPECT_TRUE(lane.ReturnBlocks(std::span(blocks).first(2), 1, Late()).ok());
    EXPECT_TRUE(lane.ReturnBlocks(std::span(blocks).subspan(2), 2, Late()).ok());
    EXPECT_TRUE(lane.Goodbye(Late()).ok());
  }
  EXPECT_THAT(resolved, ElementsAre(1, 2));
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[2].word, Word(24));
  EXPECT_EQ(got[2].version, 13u);
}

TEST(LaneReturnsTest, ASlowServerStopsNobodyForLongAndLosesNothing) {
  auto [client, server] = SocketPair();
  Lane lane(std::move(client));
  const std::vector<ReturnedBlock> blocks(Lane::kMaxReturnedBlocks, ReturnedBlock{Word(8), 1});
  uint64_t sent = 0;
  absl::Status status;
  while (status.ok()) {
    status = lane.ReturnBlocks(blocks, sent + 1, Soon());
    if (status.ok()) ++sent;
    ASSERT_LT(sent, 1000u);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(lane.broken().ok());
  EXPECT_GT(sent, 0u);

  // Once the server goes on, it gets each message that was accepted, once, and then the next.
  std::thread reader([peer = LanePeer(std::move(server)), sent]() mutable {
    for (uint64_t i = 1; i <= sent + 1; ++i) {
      const auto message = peer.Read();
      ReturnBlocks fixed;
      std::memcpy(&fixed, message->body.data(), sizeof fixed);
      EXPECT_EQ(fixed.resolved_batch, i);
    }
    peer.ReadControl();
    ControlReply reply;
    reply.mutable_goodbye();
    peer.SendControl(reply);
  });
  EXPECT_TRUE(lane.ReturnBlocks(blocks, sent + 1, Late()).ok());
  EXPECT_TRUE(lane.Goodbye(Late()).ok());
  reader.join();
}

TEST(LaneReturnsTest, ARequestThatCannotLeaveInTimeBreaksTheLane) {
  auto [client, server] = SocketPair();
  Lane lane(std::move(client));
  const std::vector<ReturnedBlock> blocks(Lane::kMaxReturnedBlocks, ReturnedBlock{Word(8), 1});
  while (lane.ReturnBlocks(blocks, 0, Soon()).ok()) {
  }
  ASSERT_TRUE(lane.broken().ok());
  EXPECT_EQ(lane.Ping(Soon()).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lane.broken().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LaneExpireTest, AskedAndAnswered) {
  ScriptedServer server([&](LanePeer& peer) {
    const auto message = peer.Read();
    ExpireRequest request;
    std::memcpy(&request, message->body.data(), sizeof request);
    EXPECT_EQ(message->kind, LaneKind::kExpireRequest);
    EXPECT_EQ(request.slot_address, 4096u);
    EXPECT_EQ(request.word, Word(8));
    peer.Send(LaneKind::kExpireReply, "");
    peer.Read();
    peer.Send(LaneKind::kExpireReply, "?");
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_TRUE(lane.Expire(4096, Word(8), Late()).ok());
  EXPECT_EQ(lane.Expire(4096, Word(8), Late()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LaneExamineTest, AskedAndAnswered) {
  ScriptedServer server([&](LanePeer& peer) {
    const auto message = peer.Read();
    ExamineLock request;
    EXPECT_EQ(message->kind, LaneKind::kExamineLock);
    EXPECT_EQ(message->body.size(), sizeof request);
    std::memcpy(&request, message->body.data(), sizeof request);
    EXPECT_EQ(request.address, 4096u);
    EXPECT_EQ(request.word, 4711u);
    peer.Send(LaneKind::kLockExamined, "");
    peer.Read();
    peer.Send(LaneKind::kLockExamined, "?");
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_TRUE(lane.ExamineLock(4096, 4711, Late()).ok());
  EXPECT_EQ(lane.ExamineLock(4096, 4711, Late()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(lane.broken().ok());
}

std::string Text(const GrowReply& reply) {
  return {reinterpret_cast<const char*>(&reply), sizeof reply};
}

TEST(LaneGrowTest, AskedAndAnswered) {
  ScriptedServer server([&](LanePeer& peer) {
    for (GrowOutcome outcome : {GrowOutcome::kGrows, GrowOutcome::kFull}) {
      const auto message = peer.Read();
      GrowRequest request;
      EXPECT_EQ(message->kind, LaneKind::kGrowRequest);
      EXPECT_EQ(message->body.size(), sizeof request);
      std::memcpy(&request, message->body.data(), sizeof request);
      EXPECT_EQ(request.position, 12'345u);
      EXPECT_EQ(request.depth, 3u);
      peer.Send(LaneKind::kGrowReply, Text({static_cast<uint32_t>(outcome), 0}));
    }
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.Grow(12'345, 3, Late()).value(), GrowOutcome::kGrows);
  EXPECT_EQ(lane.Grow(12'345, 3, Late()).value(), GrowOutcome::kFull);
}

TEST(LaneGrowTest, WhatCannotBeIsRefused) {
  for (const std::string& body : {Text({2, 0}), Text({~0u, 0}), Text({0, 1}), std::string(),
                                  std::string(7, '\0'), std::string(9, '\0')}) {
    ScriptedServer server([&](LanePeer& peer) {
      peer.Read();
      peer.Send(LaneKind::kGrowReply, body);
      peer.WaitForClose();
    });
    Lane lane(server.TakeClient());
    EXPECT_EQ(lane.Grow(0, 0, Late()).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE(lane.broken().ok());
  }
}

TEST(LaneGrowTest, NoAnswerIsADeadline) {
  ScriptedServer server([&](LanePeer& peer) {
    peer.Read();
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.Grow(0, 0, Soon()).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LaneStatusTest, SaysWhatItIsToWaitFor) {
  ScriptedServer server([&](LanePeer& peer) {
    for (bool wanted : {false, true}) {
      const control::ControlRequest request = peer.ReadControl();
      EXPECT_EQ(request.status().count_index(), wanted);
      EXPECT_EQ(request.status().sweep(), wanted);
      ControlReply reply;
      reply.mutable_status()->set_swept_blocks(7);
      peer.SendControl(reply);
    }
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  EXPECT_EQ(lane.Status({}, Late())->swept_blocks(), 7u);
  EXPECT_TRUE(lane.Status({.count_index = true, .sweep = true}, Late()).ok());
}

TEST(LaneSnapshotTest, AnErrorLeavesTheLaneInStep) {
  ScriptedServer server([&](LanePeer& peer) {
    EXPECT_EQ(peer.ReadControl().snapshot().delete_id(), 7u);
    ControlReply refusal;
    refusal.set_code(static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
    refusal.set_message("it is the newest");
    peer.SendControl(refusal);
    EXPECT_TRUE(peer.ReadControl().snapshot().create());
    ControlReply reply;
    reply.mutable_snapshot()->add_snapshots()->set_id(8);
    peer.SendControl(reply);
    peer.WaitForClose();
  });
  Lane lane(server.TakeClient());
  control::SnapshotRequest request;
  request.set_delete_id(7);
  const absl::Status refused = lane.Snapshot(request, Late()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("it is the newest"));
  request.set_create(true);
  const auto made = lane.Snapshot(request, Late());
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->snapshots_size(), 1);
  EXPECT_EQ(made->snapshots(0).id(), 8u);
}

TEST(LaneHungUpTest, NoticesADeadServer) {
  auto [client, server] = SocketPair();
  Lane lane(std::move(client));
  EXPECT_FALSE(lane.HungUp());
  EXPECT_TRUE(lane.broken().ok());
  server.Reset();
  EXPECT_TRUE(lane.HungUp());
  EXPECT_EQ(lane.broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(lane.Ping(Late()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(lane.ReturnBlocks({}, 0).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace dunlin
