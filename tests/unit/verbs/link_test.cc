#include <memory>

#include "common/fabric/verbs/verbs_link.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/verbs/fake_adapter_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> Bytes(size_t n, int seed = 1) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

class VerbsLinkTest : public ::testing::Test, public VerbsLink::Owner {
 protected:
  VerbsLinkTest() { Make(FakeLimits()); }
  void Make(const VerbsLink::Limits& limits, size_t staging_bytes = 1u << 16) {
    link_ = nullptr;
    adapter_ = std::make_unique<FakeAdapter>();
    memory_ = std::make_unique<FakeLinkMemory>(limits, staging_bytes);
    link_ = std::make_unique<VerbsLink>(adapter_->qp(), adapter_->cq(), limits, memory_->buffers(),
                                        "rdma://peer:1", this);
    ASSERT_TRUE(link_->PostReceives().ok());
  }
  void OnSegmentDone(uint32_t tag, const Segment&, const std::byte*) override {
    done_.push_back(tag);
  }
  // A segment of `reads` READs of 8 bytes.
  uint32_t PostReads(uint32_t tag, uint32_t reads, bool then_write = false) {
    const VerbsLink::Draft draft = link_->Begin(reads * 8 + 8, reads + 1);
    if (draft.segment == nullptr) return 0;
    Segment& segment = *draft.segment;
    for (uint32_t i = 0; i < reads; ++i) {
      segment.pieces[segment.count++] = {PieceKind::kRead, 0, 8, 0, i * 8, 1, 0x4000};
    }
    if (then_write) {
      segment.pieces[segment.count++] = {PieceKind::kWrite, 0, 8, 0, reads * 8, 1, 0x4000};
    }
    return link_->Post(draft, tag, nullptr);
  }
  void TakeMessages() {
    link_->Progress();
    while (!link_->Received().empty()) {
      const auto received = link_->Received();
      received_.insert(received_.end(), received.begin(), received.end());
      link_->Consume(received.size());
    }
  }
  std::string Why() { return std::string(link_->broken().message()); }

  std::unique_ptr<FakeAdapter> adapter_;
  std::unique_ptr<FakeLinkMemory> memory_;
  std::unique_ptr<VerbsLink> link_;
  std::vector<uint32_t> done_;
  std::vector<std::byte> received_;
};

TEST_F(VerbsLinkTest, CutsTheStreamIntoMessages) {
  EXPECT_EQ(adapter_->receives(), 8u);
  const auto stream = Bytes(2500);
  EXPECT_EQ(link_->Send(stream), 2500u);
  ASSERT_EQ(adapter_->lists().size(), 3u);
  std::vector<std::byte> sent;
  for (const auto& list : adapter_->lists()) {
    ASSERT_EQ(list.requests.size(), 1u);
    EXPECT_EQ(list.requests[0].opcode, IBV_WR_SEND);
    EXPECT_EQ(list.requests[0].send_flags & IBV_SEND_SIGNALED, unsigned{IBV_SEND_SIGNALED});
    EXPECT_LE(list.bytes[0].size(), 1024u);
    EXPECT_EQ(HeaderOf(list.bytes[0]).bytes, list.bytes[0].size() - 8);
    sent.insert(sent.end(), list.bytes[0].begin() + 8, list.bytes[0].end());
  }
  EXPECT_EQ(sent, stream);
}

TEST_F(VerbsLinkTest, ShortMessagesGoInline) {
  link_->Send(Bytes(24));
  EXPECT_NE(adapter_->last().requests[0].send_flags & IBV_SEND_INLINE, 0u);
  link_->Send(Bytes(25));
  EXPECT_EQ(adapter_->last().requests[0].send_flags & IBV_SEND_INLINE, 0u);
}

TEST_F(VerbsLinkTest, StopsWithoutCredits) {
  const auto stream = Bytes(1016 * 20);
  EXPECT_EQ(link_->Send(stream), 7u * 1016u);
  adapter_->CompleteAll();
  link_->Progress();
  EXPECT_EQ(link_->Send(stream), 0u) << "that they were sent gives no credit";
  adapter_->Deliver({}, 3);
  link_->Progress();
  EXPECT_EQ(link_->Send(stream), 3u * 1016u);
}

TEST_F(VerbsLinkTest, GivesCreditsBackByItself) {
  for (int i = 0; i < 4; ++i) adapter_->Deliver(Bytes(10), 0);
  TakeMessages();
  EXPECT_EQ(received_.size(), 40u);
  EXPECT_EQ(adapter_->receives(), 8u);
  ASSERT_EQ(adapter_->lists().size(), 1u);
  EXPECT_EQ(HeaderOf(adapter_->last().bytes[0]).bytes, 0u);
  EXPECT_EQ(HeaderOf(adapter_->last().bytes[0]).credits, 4u);
}

TEST_F(VerbsLinkTest, GivesCreditsBackWithMessages) {
  for (int i = 0; i < 3; ++i) adapter_->Deliver(Bytes(10), 0);
  TakeMessages();
  EXPECT_TRUE(adapter_->lists().empty());
  link_->Send(Bytes(5));
  EXPECT_EQ(HeaderOf(adapter_->last().bytes[0]).credits, 3u);
}

TEST_F(VerbsLinkTest, ABufferIsPostedAgainOnceItIsConsumed) {
  adapter_->Deliver(Bytes(100), 0);
  link_->Progress();
  EXPECT_EQ(adapter_->receives(), 7u);
  link_->Consume(60);
  EXPECT_EQ(adapter_->receives(), 7u);
  EXPECT_EQ(link_->Received().size(), 40u);
  link_->Consume(40);
  EXPECT_EQ(adapter_->receives(), 8u);
}

// One that was sent for its credits alone, behind one that waits to be consumed.
TEST_F(VerbsLinkTest, MessagesWithoutBytesKeepTheirTurn) {
  link_->Send(Bytes(3 * 1016));
  adapter_->Deliver(Bytes(10, 1), 0);
  adapter_->Deliver({}, 1);
  adapter_->Deliver({}, 1);
  adapter_->Deliver(Bytes(10, 2), 1);
  TakeMessages();
  auto expected = Bytes(10, 1);
  const auto second = Bytes(10, 2);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(received_, expected);
  EXPECT_EQ(adapter_->receives(), 8u);
}

TEST_F(VerbsLinkTest, RefusesWhatIsNoMessage) {
  const auto refuses = [&](const std::vector<std::byte>& raw) {
    Make(FakeLimits());
    adapter_->DeliverRaw(raw);
    link_->Progress();
    EXPECT_EQ(link_->broken().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(link_->Received().empty());
  };
  refuses({});
  refuses(Bytes(7));
  MessageHeader header{5, 0};
  std::vector<std::byte> message(12);
  std::memcpy(message.data(), &header, sizeof header);
  refuses(message);  // 4 bytes follow, not 5
  header = {4, 1};
  std::memcpy(message.data(), &header, sizeof header);
  refuses(message);  // a credit for nothing
}

TEST_F(VerbsLinkTest, TellsTheOwner) {
  EXPECT_EQ(PostReads(7, 3), 3u);
  EXPECT_EQ(PostReads(8, 1), 1u);
  EXPECT_EQ(adapter_->lists()[0].requests[0].send_flags, 0u);
  adapter_->CompleteList(0);
  EXPECT_EQ(link_->Progress(), 1u);
  EXPECT_EQ(done_, std::vector<uint32_t>({7}));
  adapter_->CompleteList(1);
  link_->Progress();
  EXPECT_EQ(done_, std::vector<uint32_t>({7, 8}));
}

// READs that complete apart: the WRITE behind them may be first, and the next segment's.
TEST_F(VerbsLinkTest, AwaitsReadsThatCompleteApart) {
  VerbsLink::Limits limits = FakeLimits();
  limits.reads_apart = true;
  Make(limits);
  PostReads(1, 2, true);
  PostReads(2, 0, true);
  adapter_->Complete(0, 2);
  adapter_->Complete(1, 0);
  link_->Progress();
  EXPECT_EQ(done_, std::vector<uint32_t>({2}));
  adapter_->Complete(0, 1);
  link_->Progress();
  EXPECT_EQ(done_, std::vector<uint32_t>({2, 1}));
}

TEST_F(VerbsLinkTest, QueueEntriesComeBackInOrder) {
  VerbsLink::Limits limits = FakeLimits();
  limits.send_slots = 8;
  limits.reads_apart = true;
  Make(limits);
  EXPECT_EQ(PostReads(1, 3), 3u);
  EXPECT_EQ(PostReads(2, 3), 3u);
  EXPECT_FALSE(link_->HasRoom(3));
  EXPECT_EQ(PostReads(3, 3), 0u);
  adapter_->CompleteList(1);
  link_->Progress();
  EXPECT_FALSE(link_->HasRoom(3)) << "the first is still the adapter's";
  adapter_->CompleteList(0);
  link_->Progress();
  EXPECT_TRUE(link_->HasRoom(8));
  EXPECT_TRUE(link_->broken().ok());
}

TEST_F(VerbsLinkTest, StagingComesBackWithTheSegment) {
  Make(FakeLimits(), 4096);
  const VerbsLink::Draft draft = link_->Begin(4096, 1);
  ASSERT_NE(draft.segment, nullptr);
  draft.segment->pieces[draft.segment->count++] = {PieceKind::kRead, 0, 4096, 0, 0, 1, 0};
  EXPECT_EQ(link_->Post(draft, 1, nullptr), 1u);
  EXPECT_EQ(link_->Begin(8, 1).segment, nullptr);
  EXPECT_EQ(link_->Send(Bytes(10)), 0u);
  adapter_->CompleteList(0);
  link_->Progress();
  EXPECT_EQ(link_->Send(Bytes(10)), 10u);
}

TEST_F(VerbsLinkTest, ProbesOneAtATime) {
  link_->Probe();
  link_->Probe();
  ASSERT_EQ(adapter_->lists().size(), 1u);
  EXPECT_EQ(adapter_->last().requests[0].opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(adapter_->last().requests[0].num_sge, 0);
  EXPECT_TRUE(link_->probing());
  adapter_->CompleteList(0);
  link_->Progress();
  EXPECT_FALSE(link_->probing());
  EXPECT_TRUE(done_.empty());
}

constexpr ibv_wc_status kFailures[] = {
    IBV_WC_LOC_LEN_ERR,      IBV_WC_LOC_QP_OP_ERR,     IBV_WC_LOC_PROT_ERR,   IBV_WC_BAD_RESP_ERR,
    IBV_WC_LOC_ACCESS_ERR,   IBV_WC_REM_INV_REQ_ERR,   IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR,    IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,  IBV_WC_FATAL_ERR,
    IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_GENERAL_ERR};

// Also of a request that was not signalled: its completion names it.
TEST_F(VerbsLinkTest, EachFailureBreaks) {
  for (const ibv_wc_status status : kFailures) {
    SCOPED_TRACE(ibv_wc_status_str(status));
    Make(FakeLimits());
    PostReads(1, 2, true);
    adapter_->Complete(0, 1, status);
    adapter_->Complete(0, 2, IBV_WC_WR_FLUSH_ERR);
    link_->Progress();
    EXPECT_FALSE(link_->broken().ok());
    EXPECT_THAT(Why(), HasSubstr("READ of 8 bytes at 0x4000 (rdma://peer:1)"));
    EXPECT_THAT(Why(), HasSubstr(ibv_wc_status_str(status)));
    EXPECT_FALSE(link_->only_flushed());
    EXPECT_EQ(PostReads(2, 1), 0u);
    EXPECT_EQ(link_->Send(Bytes(5)), 0u);
    link_->Probe();
    EXPECT_EQ(adapter_->lists().size(), 1u) << "something was posted after the failure";
    EXPECT_TRUE(link_->probing() == false && done_.empty());
  }
}

TEST_F(VerbsLinkTest, KeepsTheFirstError) {
  PostReads(1, 1);
  PostReads(2, 1);
  adapter_->Complete(0, 0, IBV_WC_RETRY_EXC_ERR);
  adapter_->Complete(1, 0, IBV_WC_REM_ACCESS_ERR);
  link_->Progress();
  EXPECT_THAT(Why(), HasSubstr("transport retry counter"));
}

TEST_F(VerbsLinkTest, LooksForTheCauseOfAFlush) {
  PostReads(1, 1);
  PostReads(2, 1);
  adapter_->Complete(1, 0, IBV_WC_WR_FLUSH_ERR);
  link_->Progress();
  EXPECT_TRUE(link_->only_flushed());
  EXPECT_EQ(link_->broken().code(), absl::StatusCode::kUnavailable);
  adapter_->Complete(0, 0, IBV_WC_REM_ACCESS_ERR);
  link_->Progress();
  EXPECT_FALSE(link_->only_flushed());
  EXPECT_EQ(link_->broken().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(VerbsLinkTest, ReceiveBuffersFail) {
  adapter_->FailReceive(IBV_WC_WR_FLUSH_ERR);
  link_->Progress();
  EXPECT_TRUE(link_->only_flushed());
  EXPECT_THAT(Why(), HasSubstr("receive buffer"));
}

// Of what failed before the error was seen, later successes still count.
TEST_F(VerbsLinkTest, SuccessesBesideAFailureCount) {
  PostReads(1, 1);
  PostReads(2, 1);
  adapter_->CompleteList(0);
  adapter_->Complete(1, 0, IBV_WC_RETRY_EXC_ERR);
  link_->Progress();
  EXPECT_EQ(done_, std::vector<uint32_t>({1}));
}

TEST_F(VerbsLinkTest, RefusedPosts) {
  struct Case {
    int error;
    size_t taken;
  };
  // An error of errno's kind, a negative one, and none at all but a request not taken.
  for (const Case& one : {Case{ENOMEM, 0}, Case{-EINVAL, 1}, Case{0, 2}}) {
    Make(FakeLimits());
    adapter_->FailPosts(one.error, one.taken);
    EXPECT_EQ(PostReads(1, 3), one.taken);
    EXPECT_EQ(link_->broken().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Why(), HasSubstr("posting a READ of 8 bytes"));
    EXPECT_EQ(PostReads(2, 1), 0u);
  }
}

TEST_F(VerbsLinkTest, RefusedReceives) {
  adapter_->Deliver(Bytes(4), 0);
  adapter_->FailReceives(ENOMEM);
  TakeMessages();
  EXPECT_EQ(received_.size(), 4u);
  EXPECT_THAT(Why(), HasSubstr("posting a receive buffer"));
  EXPECT_FALSE(link_->PostReceives().ok());
}

TEST_F(VerbsLinkTest, RefusedPolls) {
  adapter_->FailPolls(EIO);
  EXPECT_EQ(link_->Progress(), 0u);
  EXPECT_THAT(Why(), HasSubstr("polling the completion queue"));
}

TEST_F(VerbsLinkTest, AMessageFitsTheStagingBuffer) {
  Make(FakeLimits(), 4096);
  link_->SetPeer(8, 1u << 20);
  EXPECT_EQ(link_->MostBytesInMessage(), 2048u - 8u);
  EXPECT_EQ(link_->Send(Bytes(2040)), 2040u);
  EXPECT_EQ(adapter_->last().bytes[0].size(), 2048u);
}

}  // namespace
}  // namespace dunlin
