#include "common/fabric/verbs/chain_queue.h"

#include <memory>

#include "common/fabric/chain_frames.h"
#include "common/layout/word.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/verbs/fake_adapter_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

class ChainQueueTest : public ::testing::Test, public VerbsLink::Owner {
 protected:
  struct Setup {
    AtomicDomain domain = AtomicDomain::kNic;
    bool read_only = false;
    bool iwarp = false;
    size_t staging_bytes = 1u << 16;
    uint32_t send_slots = 128;
  };
  void Make(const Setup& setup) {
    adapter_ = std::make_unique<FakeAdapter>();
    VerbsLink::Limits limits = FakeLimits();
    limits.reads_apart = setup.iwarp;
    limits.send_slots = setup.send_slots;
    memory_ = std::make_unique<FakeLinkMemory>(limits, setup.staging_bytes);
    link_ = std::make_unique<VerbsLink>(adapter_->qp(), adapter_->cq(), limits, memory_->buffers(),
                                        "peer", this);
    stream_ = std::make_unique<OutStream>(link_.get());
    ASSERT_TRUE(link_->PostReceives().ok());
    RegionAccess access;
    access.region_bytes = 1u << 20;
    access.read_only = setup.read_only;
    access.domain = setup.domain;
    access.keys = {{0, 1u << 20, 0x100000, 7}};
    ChainQueue::Limits queue;
    queue.depth = 16;
    queue.segment_bytes = static_cast<uint32_t>(setup.staging_bytes / 4);
    queue.max_message_bytes = 1u << 20;
    queue.reads_apart = setup.iwarp;
    queue_ = std::make_unique<ChainQueue>(link_.get(), stream_.get(), access, queue);
  }
  void OnSegmentDone(uint32_t tag, const Segment& segment, const std::byte* staging) override {
    queue_->OnSegmentDone(tag, segment, staging);
  }
  // As the connection does it.
  void Progress() {
    link_->Progress();
    while (!link_->Received().empty()) {
      const auto message = link_->Received();
      // Each message of these tests is one frame.
      EXPECT_EQ(queue_->OnReply(message.subspan(sizeof(LaneFrame))), why_);
      link_->Consume(message.size());
    }
    queue_->PostWaiting();
  }
  Chain NewChain() {
    Chain chain;
    chain.scratch = scratch_.data();
    return chain;
  }
  std::vector<Chain*> Finished() {
    Chain* finished[32];
    const uint32_t n = queue_->TakeFinished(finished, 32);
    return {finished, finished + n};
  }
  // A reply with these words, and `credits` with it.
  void Reply(std::vector<uint64_t> words, uint32_t credits = 1) {
    std::vector<std::byte> body(sizeof(ChainReply) + words.size() * 8);
    const ChainReply reply{};
    std::memcpy(body.data(), &reply, sizeof reply);
    std::memcpy(body.data() + sizeof reply, words.data(), words.size() * 8);
    std::vector<std::byte> frame;
    AppendLaneFrame(LaneKind::kChainReply, body, {}, frame);
    adapter_->Deliver(frame, credits);
  }
  std::vector<ibv_wr_opcode> Opcodes(size_t list) {
    std::vector<ibv_wr_opcode> opcodes;
    for (const auto& request : adapter_->lists()[list].requests) opcodes.push_back(request.opcode);
    return opcodes;
  }

  std::unique_ptr<FakeAdapter> adapter_;
  std::unique_ptr<FakeLinkMemory> memory_;
  std::unique_ptr<VerbsLink> link_;
  std::unique_ptr<OutStream> stream_;
  std::unique_ptr<ChainQueue> queue_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(1u << 16);
  std::string why_;
};

using Opcode = std::vector<ibv_wr_opcode>;

TEST_F(ChainQueueTest, WholeChainsWhereTheAdapterHasTheAtomics) {
  Make({});
  Chain chain = NewChain();
  chain.Write(0, 0, 100, nullptr, 0);
  chain.CompareSwap(4096, 3, 4);
  chain.Read(8192, 16, 512);
  queue_->Post(&chain);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_RDMA_READ}));
  EXPECT_TRUE(Finished().empty());
  adapter_->AnswerWord(0, 1, 3);
  adapter_->AnswerWord(0, 2, 77);
  adapter_->CompleteAll();
  Progress();
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chain}));
  EXPECT_EQ(chain.outcome, ChainOutcome::kDone);
  EXPECT_TRUE(chain.Swapped(1));
  EXPECT_EQ(PlainWord(chain.work[2].data), 77u);
  EXPECT_EQ(adapter_->lists().size(), 1u);
}

TEST_F(ChainQueueTest, OneListWithTheTailWhereTheServerHasThem) {
  Make({.domain = AtomicDomain::kCpu});
  Chain chain = NewChain();
  chain.Write(0, 0, 100, nullptr, 0);
  chain.CompareSwap(4096, 3, 4);
  chain.ReadWord(8192);
  queue_->Post(&chain);
  ASSERT_EQ(adapter_->lists().size(), 1u);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_WRITE, IBV_WR_SEND}));
  EXPECT_EQ(adapter_->last().requests[0].send_flags, 0u);
  // The message is the chain from its atomic on, as a frame.
  LaneFrame frame{};
  std::memcpy(&frame, adapter_->last().bytes[1].data() + sizeof(MessageHeader), sizeof frame);
  EXPECT_EQ(frame.kind, static_cast<uint16_t>(LaneKind::kChainRequest));
  ReceivedChain received;
  EXPECT_EQ(ParseChainRequest(std::span(adapter_->last().bytes[1]).subspan(16), 1u << 20, false,
                              &received),
            "");
  EXPECT_EQ(received.chain.count, 2u);
  // Both: the list and the reply.
  adapter_->CompleteAll();
  Progress();
  EXPECT_TRUE(Finished().empty());
  Reply({3, 99});
  Progress();
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chain}));
  EXPECT_TRUE(chain.Swapped(1));
  EXPECT_EQ(chain.work[2].result, 99u);
}

TEST_F(ChainQueueTest, TheReplyMayBeFirst) {
  Make({.domain = AtomicDomain::kCpu, .iwarp = true});
  Chain chain = NewChain();
  chain.Read(0, 8, 0);
  chain.FetchAdd(4096, 3);
  queue_->Post(&chain);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_READ, IBV_WR_SEND}));
  Reply({5});
  Progress();
  EXPECT_TRUE(Finished().empty());
  adapter_->Complete(0, 1);
  Progress();
  EXPECT_TRUE(Finished().empty()) << "what was read isn't there yet";
  adapter_->AnswerWord(0, 0, 42);
  adapter_->Complete(0, 0);
  Progress();
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chain}));
  EXPECT_EQ(PlainWord(scratch_.data()), 42u);
}

// On iWARP a WRITE is complete when it has left.
TEST_F(ChainQueueTest, WritesAreConfirmedWhereTheyCompleteEarly) {
  Make({.domain = AtomicDomain::kCpu, .iwarp = true});
  Chain chain = NewChain();
  chain.Write(0, 0, 100, nullptr, 0);
  queue_->Post(&chain);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}));
  Make({});
  queue_->Post(&chain);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_WRITE}));
}

TEST_F(ChainQueueTest, ChainsWithoutCreditsWaitWhole) {
  Make({.domain = AtomicDomain::kCpu});
  std::vector<Chain> chains(9);
  for (Chain& chain : chains) {
    chain = NewChain();
    chain.Write(0, 0, 8, nullptr, 0);
    chain.FetchAdd(4096, 1);
    queue_->Post(&chain);
  }
  EXPECT_EQ(adapter_->lists().size(), 7u);
  adapter_->CompleteAll();
  Progress();
  EXPECT_EQ(adapter_->lists().size(), 7u);
  Reply({0}, 1);
  Progress();
  EXPECT_EQ(adapter_->lists().size(), 8u);
  EXPECT_EQ(Opcodes(7), Opcode({IBV_WR_RDMA_WRITE, IBV_WR_SEND}));
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chains[0]}));
}

TEST_F(ChainQueueTest, TailsQueueBehindTheLanesFrames) {
  Make({.domain = AtomicDomain::kCpu});
  const std::vector<std::byte> body(7 * 1016);
  stream_->AppendFrame(LaneKind::kReturnBlocks, body, {});
  stream_->Pump();
  EXPECT_EQ(adapter_->lists().size(), 7u);
  EXPECT_EQ(stream_->unsent(), 8u);
  Chain chain = NewChain();
  chain.FetchAdd(4096, 1);
  Chain read = NewChain();
  read.ReadWord(0);
  queue_->Post(&chain);
  queue_->Post(&read);
  EXPECT_EQ(adapter_->lists().size(), 7u);
  adapter_->CompleteAll();
  adapter_->Deliver({}, 2);
  link_->Progress();
  queue_->PostWaiting();
  // The rest of the frame, the tail, then the READ, which has to wait for its turn.
  ASSERT_EQ(adapter_->lists().size(), 10u);
  EXPECT_EQ(HeaderOf(adapter_->lists()[7].bytes[0]).bytes, 8u);
  EXPECT_EQ(Opcodes(8), Opcode({IBV_WR_SEND}));
  EXPECT_EQ(Opcodes(9), Opcode({IBV_WR_RDMA_READ}));
}

// There are credits, and room for the tail, but none yet for the frame before it.
TEST_F(ChainQueueTest, TailsDontOvertakeFrames) {
  Make({.domain = AtomicDomain::kCpu, .staging_bytes = 4096});
  Chain reads[3];
  for (Chain& read : reads) {
    read = NewChain();
    read.Read(0, 992, 0);
    queue_->Post(&read);
  }
  ASSERT_EQ(adapter_->lists().size(), 3u);
  stream_->AppendFrame(LaneKind::kReturnBlocks, std::vector<std::byte>(1008), {});
  Chain chain = NewChain();
  chain.FetchAdd(4096, 1);
  queue_->Post(&chain);
  EXPECT_EQ(adapter_->lists().size(), 3u);
  adapter_->CompleteAll();
  Progress();
  ASSERT_EQ(adapter_->lists().size(), 5u);
  EXPECT_EQ(HeaderOf(adapter_->lists()[3].bytes[0]).bytes, 1016u);
  EXPECT_LT(HeaderOf(adapter_->lists()[4].bytes[0]).bytes, 200u);
}

TEST_F(ChainQueueTest, LongTailsFollowInSeveralMessages) {
  Make({.domain = AtomicDomain::kCpu});
  Chain chain = NewChain();
  chain.Write(0, 0, 8, nullptr, 0);
  chain.FetchAdd(4096, 1);
  chain.Write(8192, 0, 3000, nullptr, 0);
  queue_->Post(&chain);
  EXPECT_EQ(Opcodes(0), Opcode({IBV_WR_RDMA_WRITE}));
  EXPECT_EQ(adapter_->lists().size(), 1u + 4u);
  adapter_->CompleteAll();
  Progress();
  EXPECT_TRUE(Finished().empty());
  Reply({5}, 4);
  Progress();
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chain}));
  EXPECT_EQ(chain.work[1].result, 5u);
}

TEST_F(ChainQueueTest, LargeChainsGoInSegments) {
  Make({.staging_bytes = 16'384});
  std::vector<std::byte> tail(50'000, std::byte{7});
  std::vector<std::byte> sink(20'000);
  Chain chain = NewChain();
  chain.Write(0, 0, 0, tail.data(), 50'000);
  chain.CompareSwap(500'000, 0, 1);
  chain.Read(100'000, 20'000, 0).sink = sink.data();
  queue_->Post(&chain);
  for (int i = 0; i < 100 && Finished().empty(); ++i) {
    ASSERT_FALSE(adapter_->lists().empty());
    adapter_->CompleteAll();
    Progress();
    if (chain.outcome != ChainOutcome::kPending) break;
  }
  EXPECT_EQ(chain.outcome, ChainOutcome::kDone);
  uint64_t written = 0, read = 0, atomics = 0;
  for (const auto& list : adapter_->lists()) {
    for (const auto& request : list.requests) {
      if (request.opcode == IBV_WR_RDMA_WRITE) {
        EXPECT_EQ(request.wr.rdma.remote_addr, 0x100000 + written);
        EXPECT_EQ(atomics, 0u);
        written += request.sg_list->length;
      } else if (request.opcode == IBV_WR_RDMA_READ) {
        EXPECT_EQ(request.wr.rdma.remote_addr, 0x100000 + 100'000 + read);
        EXPECT_EQ(atomics, 1u);
        read += request.sg_list->length;
      } else {
        ++atomics;
      }
    }
  }
  EXPECT_EQ(written, 50'000u);
  EXPECT_EQ(read, 20'000u);
}

TEST_F(ChainQueueTest, RefusesWhatIsNotAllowed) {
  Make({.domain = AtomicDomain::kCpu, .read_only = true});
  Chain chain = NewChain();
  chain.Write(0, 0, 8, nullptr, 0);
  queue_->Post(&chain);
  EXPECT_EQ(chain.outcome, ChainOutcome::kNotExecuted);
  Make({.domain = AtomicDomain::kCpu});
  chain.Clear();
  chain.Read(1u << 20, 1, 0);
  queue_->Post(&chain);
  EXPECT_EQ(chain.outcome, ChainOutcome::kNotExecuted);
  EXPECT_EQ(Finished(), std::vector<Chain*>({&chain}));
  EXPECT_TRUE(adapter_->lists().empty());
}

TEST_F(ChainQueueTest, RepliesThatFitNoChain) {
  Make({.domain = AtomicDomain::kCpu});
  const ChainReply reply{};
  EXPECT_NE(queue_->OnReply(std::as_bytes(std::span(&reply, 1))), "");
  Chain chain = NewChain();
  chain.FetchAdd(4096, 1);
  queue_->Post(&chain);
  EXPECT_NE(queue_->OnReply(std::as_bytes(std::span(&reply, 1))), "") << "the word is missing";
}

TEST_F(ChainQueueTest, NothingTakenIsNotExecuted) {
  Make({});
  Chain before = NewChain();
  before.ReadWord(0);
  queue_->Post(&before);
  adapter_->FailPosts(ENOMEM, 0);
  Chain chain = NewChain();
  chain.Write(0, 0, 8, nullptr, 0);
  chain.CompareSwap(64, 0, 1);
  queue_->Post(&chain);
  Chain after = NewChain();
  after.ReadWord(0);
  queue_->Post(&after);
  EXPECT_FALSE(link_->broken().ok());
  queue_->FailAll();
  EXPECT_EQ(before.outcome, ChainOutcome::kUnknown);
  EXPECT_EQ(chain.outcome, ChainOutcome::kNotExecuted);
  EXPECT_EQ(after.outcome, ChainOutcome::kNotExecuted);
  EXPECT_EQ(Finished().size(), 3u);
}

TEST_F(ChainQueueTest, PartlyTakenIsUnknown) {
  // As some providers do: success, and a request that wasn't taken.
  for (const int error : {ENOMEM, 0}) {
    Make({});
    adapter_->FailPosts(error, 1);
    Chain chain = NewChain();
    chain.Write(0, 0, 8, nullptr, 0);
    chain.CompareSwap(64, 0, 1);
    queue_->Post(&chain);
    EXPECT_FALSE(link_->broken().ok());
    queue_->FailAll();
    EXPECT_EQ(chain.outcome, ChainOutcome::kUnknown);
  }
}

TEST_F(ChainQueueTest, AllComesBackInOrderOfPosting) {
  Make({.domain = AtomicDomain::kCpu});
  std::vector<Chain> chains(12);
  std::vector<Chain*> expected;
  for (Chain& chain : chains) {
    chain = NewChain();
    chain.FetchAdd(4096, 1);
    queue_->Post(&chain);
    expected.push_back(&chain);
  }
  link_->Break(absl::UnavailableError("gone"));
  queue_->FailAll();
  EXPECT_EQ(Finished(), expected);
  for (size_t i = 0; i < chains.size(); ++i) {
    EXPECT_EQ(chains[i].outcome, i < 7 ? ChainOutcome::kUnknown : ChainOutcome::kNotExecuted) << i;
  }
  Chain late = NewChain();
  late.ReadWord(0);
  queue_->Post(&late);
  EXPECT_EQ(late.outcome, ChainOutcome::kNotExecuted);
}

// Of a chain whose list failed half way, what had completed before is not undone.
TEST_F(ChainQueueTest, AFailedCompletionIsUnknown) {
  Make({});
  Chain good = NewChain(), bad = NewChain();
  good.ReadWord(0);
  bad.Write(0, 0, 8, nullptr, 0);
  bad.CompareSwap(64, 0, 1);
  queue_->Post(&good);
  queue_->Post(&bad);
  adapter_->Complete(0, 0);
  adapter_->Complete(1, 0, IBV_WC_REM_ACCESS_ERR);
  adapter_->Complete(1, 1, IBV_WC_WR_FLUSH_ERR);
  link_->Progress();
  EXPECT_EQ(link_->broken().code(), absl::StatusCode::kPermissionDenied);
  queue_->FailAll();
  EXPECT_EQ(good.outcome, ChainOutcome::kDone);
  EXPECT_EQ(bad.outcome, ChainOutcome::kUnknown);
}

}  // namespace
}  // namespace dunlin
