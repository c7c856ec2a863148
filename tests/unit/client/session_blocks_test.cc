#include "client/session/session_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "common/fabric/frame_port.h"

namespace dunlin {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr uint64_t kHeap = uint64_t{64} << 20;
constexpr uint64_t kSmall = 100;  // bytes of a record
constexpr uint64_t kOther = 200;
constexpr uint64_t kLarge = 20'000;

// The server's side of the lane: hands out blocks, and keeps book of them as a server does.
class FakeServer final : public FramePort {
 public:
  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array) override {
    ++frames_;
    if (kind == LaneKind::kBlocksRequest) {
      ASSERT_EQ(fixed.size(), sizeof(BlocksRequest));
      std::memcpy(&request_, fixed.data(), sizeof request_);
      Resolve(request_.resolved_batch);
    } else {
      ASSERT_EQ(kind, LaneKind::kReturnBlocks);
      ReturnBlocks message;
      std::memcpy(&message, fixed.data(), sizeof message);
      std::vector<ReturnedBlock> blocks(message.count);
      if (!array.empty()) std::memcpy(blocks.data(), array.data(), array.size());
      for (const ReturnedBlock& block : blocks) returned_.insert(block.word);
      Resolve(message.resolved_batch);
    }
  }
  size_t unsent() const override { return 0; }
  absl::Status SendNow() override { return absl::OkStatus(); }
  absl::Status SendUntil(size_t, Deadline) override { return absl::OkStatus(); }
  absl::StatusOr<Frame> Receive(Deadline, UniqueFd*) override {
    BlocksReply reply{};
    std::vector<uint64_t> words;
    reply.outcome = static_cast<uint32_t>(outcome_);
    if (outcome_ == BlocksOutcome::kOk) {
      reply.count = std::min(request_.want, most_);
      reply.batch = ++last_batch_;
      reply.first_version = next_version_;
      reply.version_count = std::max<uint64_t>(64, 4 * reply.count);
      next_version_ += reply.version_count;
      for (uint32_t i = 0; i < reply.count; ++i) {
        const auto c = static_cast<SizeClass>(request_.size_class);
        words.push_back(SlotWord::Make(kPageBytes * ++blocks_, c, 0, 1).raw());
        batches_[reply.batch].insert(words.back());
      }
    }
    body_.assign(reinterpret_cast<const std::byte*>(&reply),
                 reinterpret_cast<const std::byte*>(&reply + 1));
    const auto array = std::as_bytes(std::span(words));
    body_.insert(body_.end(), array.begin(), array.end());
    return Frame{LaneKind::kBlocksReply, body_};
  }
  absl::Status CheckQuiet() override { return broken_; }
  absl::Status Break(absl::Status why) override { return broken_ = why; }
  const absl::Status& broken() const override { return broken_; }
  uint64_t frames_sent() const override { return frames_; }

  void Linked(SlotWord word) { linked_.insert(word.raw()); }
  bool Returned(SlotWord word) const { return returned_.contains(word.raw()); }
  size_t returned() const { return returned_.size(); }
  uint64_t resolved() const { return resolved_; }
  const BlocksRequest& request() const { return request_; }
  void Answer(BlocksOutcome outcome) { outcome_ = outcome; }
  void HandOutAtMost(uint32_t blocks) { most_ = blocks; }

 private:
  // What is declared resolved has to be.
  void Resolve(uint64_t batch) {
    ASSERT_LE(batch, last_batch_);
    resolved_ = std::max(resolved_, batch);
    for (uint64_t b = 1; b <= batch; ++b) {
      for (uint64_t word : batches_[b]) {
        EXPECT_TRUE(linked_.contains(word) || returned_.contains(word)) << "batch " << b;
      }
      batches_.erase(b);
    }
  }

  absl::Status broken_;
  uint64_t frames_ = 0;
  BlocksRequest request_{};
  BlocksOutcome outcome_ = BlocksOutcome::kOk;
  uint32_t most_ = kMaxBlocksPerBatch;
  uint64_t blocks_ = 0;
  uint64_t next_version_ = 1;
  uint64_t last_batch_ = 0;
  uint64_t resolved_ = 0;
  std::map<uint64_t, std::set<uint64_t>> batches_;
  std::set<uint64_t> linked_;
  std::set<uint64_t> returned_;
  std::vector<std::byte> body_;
};

class SessionBlocksTest : public testing::Test {
 protected:
  SessionBlocksTest() : clock_(1'000 * kMillisecond) {
    auto server = std::make_unique<FakeServer>();
    server_ = server.get();
    lane_.emplace(std::move(server));
    blocks_.emplace(&*lane_, kHeap, &clock_);
  }

  Deadline Soon() { return Deadline::After(Milliseconds(1000), clock_); }
  SessionBlocks::Taken Take(uint64_t bytes) { return blocks_->Take(bytes, Soon()); }
  void Link(const SessionBlocks::Taken& taken) {
    server_->Linked(taken.block.word);
    blocks_->Spent(taken.batch);
  }
  // A put of a new key.
  void Put(uint64_t bytes) {
    const SessionBlocks::Taken taken = Take(bytes);
    ASSERT_EQ(taken.result, Result::kOk);
    ASSERT_TRUE(versions_.insert(taken.block.version).second) << "a version twice";
    Link(taken);
  }
  // As the session does each time the server's clock has moved.
  void Pass(int64_t milliseconds) {
    for (int64_t i = 0; i < milliseconds; i += 10) {
      clock_.Advance(10 * kMillisecond);
      blocks_->GiveBackIdle(clock_.NowNanos());
    }
  }
  bool InHand(uint64_t bytes) {
    const SessionBlocks::Taken taken = blocks_->TakeInHand(ClassFor(bytes));
    if (taken.result == Result::kOk) blocks_->PutBack(taken.block, taken.batch);
    return taken.result == Result::kOk;
  }

  ManualClock clock_;
  FakeServer* server_;
  std::optional<Lane> lane_;
  std::optional<SessionBlocks> blocks_;
  std::set<uint64_t> versions_;
};

TEST_F(SessionBlocksTest, WhoPutsMuchAsksForMuchAtOnce) {
  for (int i = 0; i < 2000; ++i) Put(kSmall);
  EXPECT_EQ(server_->request().want, kMaxBlocksPerBatch);
  EXPECT_LT(blocks_->lane_messages(), 8u);
}

TEST_F(SessionBlocksTest, ABatchThatLastsLongIsFollowedByASmallerOne) {
  for (int i = 0; i < 85; ++i) Put(kSmall);  // batches of 4, 16 and 64, and one of a next
  EXPECT_EQ(server_->request().want, 256u);
  for (int i = 0; i < 256; ++i) {
    Put(kSmall);
    Pass(10);
  }
  EXPECT_LE(server_->request().want, 64u);
}

// The server gives less than was asked for: what counts is what it gave.
TEST_F(SessionBlocksTest, SlowPutsHoldLittleOfASmallHeapToo) {
  server_->HandOutAtMost(32);
  for (int i = 0; i < 300; ++i) Put(kSmall);
  for (int i = 0; i < 100; ++i) {
    Put(kSmall);
    Pass(50);
  }
  EXPECT_LE(server_->request().want, 8u);
}

TEST_F(SessionBlocksTest, ASizeThatIsNotWrittenGivesItsBlocksBackAndBatchesAreResolved) {
  Put(kSmall);  // of a batch of 4
  for (int i = 0; i < 4; ++i) Put(kOther);
  ASSERT_TRUE(blocks_->Flush(Soon()).ok());
  EXPECT_EQ(server_->resolved(), 0u) << "the first batch holds up the second";
  for (int i = 0; i < 40; ++i) {
    Put(kOther);
    Pass(10);
  }
  EXPECT_EQ(server_->returned(), 3u);
  EXPECT_GE(server_->resolved(), 2u);
  EXPECT_TRUE(InHand(kOther)) << "it is in use";
  EXPECT_FALSE(InHand(kSmall));
}

// One that only reads.
TEST_F(SessionBlocksTest, ASessionThatStopsWritingGivesAllBack) {
  for (int i = 0; i < 50; ++i) Put(kSmall);
  Put(kOther);
  const SessionBlocks::Taken unlinked = Take(kLarge);
  Link(unlinked);
  blocks_->Unlinked({unlinked.block.word, unlinked.block.version});
  EXPECT_FALSE(server_->Returned(unlinked.block.word)) << "one alone is not worth a message";
  Pass(1000);
  EXPECT_TRUE(server_->Returned(unlinked.block.word));
  EXPECT_FALSE(InHand(kSmall));
  EXPECT_FALSE(InHand(kOther));
  EXPECT_EQ(server_->resolved(), 5u);
  const uint64_t messages = blocks_->lane_messages();
  Pass(1000);
  EXPECT_EQ(blocks_->lane_messages(), messages) << "nothing is left to say";
}

TEST_F(SessionBlocksTest, AHandfulOfBlocksIsGivenBackAtATime) {
  for (SizeClass c = 1; c <= 5; ++c) {
    for (int i = 0; i < 345; ++i) Put(BlockBytes(c));  // 1019 are left of 1024 then
  }
  Pass(400);
  EXPECT_GT(server_->returned(), 0u);
  EXPECT_LT(server_->returned(), 3500u);
  Pass(1000);
  EXPECT_GT(server_->returned(), 5000u);
}

TEST_F(SessionBlocksTest, WithMemoryFullNothingIsKept) {
  Put(kSmall);
  Put(kOther);
  server_->Answer(BlocksOutcome::kMemoryFull);
  EXPECT_EQ(Take(kLarge).result, Result::kMemoryFull);
  EXPECT_EQ(server_->returned(), 6u);
  EXPECT_EQ(server_->resolved(), 2u);
  EXPECT_EQ(blocks_->TakeInHand(ClassFor(kSmall)).result, Result::kMemoryFull);
  // What is asked for afterwards is little.
  server_->Answer(BlocksOutcome::kOk);
  Put(kSmall);
  EXPECT_EQ(server_->request().want, 1u);
}

TEST_F(SessionBlocksTest, WhileACacheMakesRoomWhatIsInUseIsKept) {
  Put(kSmall);
  Put(kOther);
  Pass(300);
  Put(kOther);
  server_->Answer(BlocksOutcome::kRoomSoon);
  const SessionBlocks::Taken taken = Take(kLarge);
  EXPECT_EQ(taken.result, Result::kMemoryFull);
  EXPECT_TRUE(taken.room_soon);
  EXPECT_EQ(server_->returned(), 3u);
  EXPECT_FALSE(InHand(kSmall));
  EXPECT_TRUE(InHand(kOther));
}

// Versions come with each batch; those of a small one must not displace those of a large one.
TEST_F(SessionBlocksTest, VersionsOfALargeBatchOutliveASmallOne) {
  for (int i = 0; i < 400; ++i) Put(kSmall);  // of the last batch 965 are left
  const uint64_t messages = blocks_->lane_messages();
  server_->HandOutAtMost(1);
  Put(kLarge);
  for (int i = 0; i < 900; ++i) Put(kSmall);
  EXPECT_EQ(blocks_->lane_messages(), messages + 1);
}

TEST_F(SessionBlocksTest, LargeRecordsOfASmallHeapGoBackAtOnce) {
  blocks_.emplace(&*lane_, uint64_t{8} << 20, &clock_);
  const SessionBlocks::Taken taken = Take(kLarge);
  Link(taken);
  blocks_->Unlinked({taken.block.word, taken.block.version});
  EXPECT_TRUE(server_->Returned(taken.block.word));
}

// The server frees the old connection's batches by itself; what was unlinked only we know.
TEST_F(SessionBlocksTest, OnANewConnectionOnlyWhatWasUnlinkedIsReturned) {
  blocks_.emplace(&*lane_, uint64_t{4} << 30, &clock_);
  const SessionBlocks::Taken linked = Take(kSmall);
  Link(linked);
  const SessionBlocks::Taken run = Take(100'000);
  blocks_->PutBack(run.block, run.batch);
  blocks_->Unlinked({linked.block.word, linked.block.version});
  ASSERT_EQ(server_->returned(), 0u);
  blocks_->Reset(&*lane_, kHeap, true);
  ASSERT_TRUE(blocks_->Flush(Soon()).ok());
  EXPECT_TRUE(server_->Returned(linked.block.word));
  EXPECT_FALSE(server_->Returned(run.block.word));
}

}  // namespace
}  // namespace dunlin
