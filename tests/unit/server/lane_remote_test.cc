#include <gmock/gmock.h>

#include <cstring>

#include "common/fabric/chain_frames.h"
#include "server/lane_service.h"
#include "tests/unit/server/core_fixture.h"

// What the lane does for a peer that comes over a network.

namespace dunlin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakePeer final : public EndpointPeer {
 public:
  Transfer Receive(std::span<std::byte>) override { return {}; }
  Transfer Send(std::span<const std::byte>) override { return {}; }
  void SetTag(uint64_t) override {}
  const std::string& name() const override { return name_; }
  RegionAccess Access(bool read_only) const override {
    RegionAccess access;
    access.keys = {{0, 4096, 0x1000, read_only ? 7u : 8u}, {4096, 8192, 0x9000, 9}};
    return access;
  }

 private:
  const std::string name_ = "net 10.0.0.9:1";
};

class FailingAtomics final : public AtomicAgent {
 public:
  absl::StatusOr<uint64_t> CompareSwap(uint64_t, uint64_t, uint64_t) override {
    return absl::UnavailableError("the adapter is gone");
  }
};

class LaneRemoteTest : public CoreFixture {
 protected:
  LanePeer Remote() { return {.pid = 0, .remote = &remote_, .can_be_fenced = true}; }

  LaneResult Send(LanePeer& peer, LaneKind kind, std::string_view body) {
    output_ = {};
    return ApplyLaneMessage(*core_, peer, kind, std::as_bytes(std::span(body)), output_);
  }
  control::ControlReply Hello(LanePeer& peer, uint32_t replaces = 0, uint64_t token = 0,
                              uint64_t incarnation = 0, bool read_only = false) {
    control::ControlRequest request;
    control::HelloRequest& hello = *request.mutable_hello();
    hello.set_layout_version(kLayoutVersion);
    hello.set_read_only(read_only);
    hello.set_replaces_session(replaces);
    hello.set_replaces_token(token);
    hello.set_replaces_incarnation(incarnation);
    EXPECT_EQ(Send(peer, LaneKind::kControlRequest, request.SerializeAsString()).verdict,
              LaneVerdict::kNext);
    control::ControlReply reply;
    EXPECT_TRUE(reply.ParseFromString(output_.bytes.substr(sizeof(LaneFrame))));
    return reply;
  }
  // Sends the chain as a client would; the result of the last request.
  LaneResult Execute(LanePeer& peer, const Chain& chain) {
    LaneResult result;
    std::vector<std::byte> buffer;
    ComposeChainRequests(chain, 0, buffer, [&](std::span<const std::byte> body) {
      result = Send(peer, LaneKind::kChainRequest,
                    {reinterpret_cast<const char*>(body.data()), body.size()});
    });
    return result;
  }
  std::span<const std::byte> ReplyBody() const {
    return std::as_bytes(std::span(output_.bytes)).subspan(sizeof(LaneFrame));
  }

  FakePeer remote_;
  LaneOutput output_;
};

TEST_F(LaneRemoteTest, TheWelcomeHasKeysAndNoDescriptor) {
  LanePeer peer = Remote();
  const control::ControlReply reply = Hello(peer);
  ASSERT_EQ(reply.code(), 0u) << reply.message();
  EXPECT_FALSE(output_.region);
  ASSERT_EQ(reply.hello().keys_size(), 2);
  EXPECT_EQ(reply.hello().keys(0).key(), 8u);
  EXPECT_EQ(reply.hello().keys(1).address(), 0x9000u);
  EXPECT_FALSE(reply.hello().nic_atomics());
  EXPECT_EQ(core_->sessions().all().begin()->second->peer, "net 10.0.0.9:1");
  LanePeer reader = Remote();
  EXPECT_EQ(Hello(reader, 0, 0, 0, true).hello().keys(0).key(), 7u);
}

TEST_F(LaneRemoteTest, ASessionIsReplacedByItsOwnClientAlone) {
  LanePeer first = Remote();
  const control::ControlReply welcome = Hello(first);
  const uint32_t id = welcome.hello().session_id();
  const uint64_t token = welcome.hello().token();
  LanePeer stranger = Remote();
  EXPECT_EQ(Hello(stranger, id, token + 1, plan_.incarnation).code(),
            static_cast<uint32_t>(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(core_->TakeReplaced(), IsEmpty());
  LanePeer second = Remote();
  EXPECT_EQ(Hello(second, id, token, plan_.incarnation).code(), 0u);
  EXPECT_THAT(core_->TakeReplaced(), ElementsAre(id));
  EXPECT_THAT(core_->TakeReplaced(), IsEmpty());
}

TEST_F(LaneRemoteTest, SessionsOfAnotherIncarnationOrLongGoneReplaceNothing) {
  LanePeer first = Remote();
  const uint32_t id = Hello(first).hello().session_id();
  LanePeer second = Remote();
  EXPECT_EQ(Hello(second, id, 0, plan_.incarnation + 1).code(), 0u);
  LanePeer third = Remote();
  EXPECT_EQ(Hello(third, 1000, 0, plan_.incarnation).code(), 0u);
  EXPECT_THAT(core_->TakeReplaced(), IsEmpty());
}

TEST_F(LaneRemoteTest, AChainIsExecutedInOrderAndAnsweredOnce) {
  LanePeer peer = Remote();
  Hello(peer);
  const uint64_t word = plan_.heap_offset + 64;
  std::byte data[16] = {std::byte{1}, std::byte{2}};
  std::byte sink[16] = {};
  Chain chain;
  chain.scratch = data;
  chain.Write(plan_.heap_offset, 0, sizeof data, nullptr, 0);
  chain.CompareSwap(word, 0, 5);
  chain.CompareSwap(word, 4, 6);
  chain.FetchAdd(word, 10);
  chain.ReadWord(word);
  chain.Read(plan_.heap_offset, sizeof sink, 0).sink = sink;
  EXPECT_EQ(Execute(peer, chain).verdict, LaneVerdict::kNext);
  ASSERT_EQ(ApplyChainReply(chain, 0, ReplyBody()), "");
  EXPECT_TRUE(chain.Swapped(1));
  EXPECT_EQ(chain.work[2].result, 5u);
  EXPECT_EQ(chain.work[3].result, 5u);
  EXPECT_EQ(chain.work[4].result, 15u);
  EXPECT_EQ(std::memcmp(sink, data, sizeof data), 0);
}

TEST_F(LaneRemoteTest, AWriteInPartsIsAnsweredAfterTheLast) {
  LanePeer peer = Remote();
  Hello(peer);
  std::vector<std::byte> data(kMaxChainBody + 1000, std::byte{0x5A});
  Chain chain;
  chain.scratch = data.data();
  chain.Write(plan_.heap_offset, 0, static_cast<uint32_t>(data.size()), nullptr, 0);
  chain.CompareSwap(plan_.heap_offset + data.size() + 8 - data.size() % 8, 0, 1);
  EXPECT_EQ(Execute(peer, chain).verdict, LaneVerdict::kNext);
  ASSERT_EQ(ApplyChainReply(chain, 0, ReplyBody()), "");
  EXPECT_EQ(std::memcmp(At(plan_.heap_offset), data.data(), data.size()), 0);
}

TEST_F(LaneRemoteTest, WhatMayNotBeExecutedEndsTheConnection) {
  Chain outside;
  outside.ReadWord(plan_.region_bytes);
  Chain change;
  change.CompareSwap(plan_.heap_offset, 0, 1);
  LanePeer peer = Remote();
  EXPECT_EQ(Execute(peer, change).verdict, LaneVerdict::kClose) << "no session yet";
  Hello(peer);
  EXPECT_EQ(Execute(peer, outside).verdict, LaneVerdict::kClose);
  LanePeer reader = Remote();
  Hello(reader, 0, 0, 0, true);
  EXPECT_EQ(Execute(reader, change).verdict, LaneVerdict::kClose);
  LanePeer local{.pid = 42, .can_be_fenced = true};
  Hello(local);
  EXPECT_EQ(Execute(local, change).verdict, LaneVerdict::kClose);
  EXPECT_EQ(LoadWord(At(plan_.heap_offset)), 0u);
}

TEST_F(LaneRemoteTest, WhereAnAdapterIsTheAgentTheProcessorIsNone) {
  FailingAtomics atomics;
  ServerCore::Config config;
  config.atomics = &atomics;
  config.no_shm_because = "an adapter does it";
  core_.emplace(base_.get(), plan_, config);
  core_->SetState(ServerState::kServing);
  LanePeer peer = Remote();
  EXPECT_TRUE(Hello(peer).hello().nic_atomics());
  Chain change;
  change.CompareSwap(plan_.heap_offset, 0, 1);
  EXPECT_EQ(Execute(peer, change).verdict, LaneVerdict::kClose);
  LanePeer local{.pid = 42, .can_be_fenced = true};
  EXPECT_THAT(Hello(local).message(), HasSubstr("an adapter does it"));

  // Its own changes go through the agent: when that fails, so does the server.
  ServerCore::Blocks blocks = Take(peer.session, 100, 1);
  ASSERT_EQ(blocks.words.size(), 1u);
  const SlotWord word(blocks.words[0]);
  WriteRecord(word, true, 1);
  Link(Slot(0, 0), word.raw());
  core_->SetTick(50);
  EXPECT_TRUE(core_->Expire(Slot(0, 0), word));
  EXPECT_EQ(core_->fault().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(LoadWord(At(Slot(0, 0))), word.raw());
}

}  // namespace
}  // namespace dunlin
