#include "common/fabric/verbs/work_requests.h"

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "common/layout/word.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

constexpr SegmentLimits kWide{kMaxPieces, 1u << 20, 1u << 30};

class WorkRequestsTest : public ::testing::Test {
 protected:
  WorkRequestsTest() { chain_.scratch = scratch_.data(); }
  Segment Cut(const SegmentLimits& limits = kWide) {
    Segment segment;
    CutChain(chain_, chain_.count, keys_, limits, cursor_, segment);
    return segment;
  }

  std::vector<std::byte> scratch_ = std::vector<std::byte>(1u << 16);
  Chain chain_;
  ChainCursor cursor_;
  KeyTable keys_{{{0, 8192, 0x100000, 11}, {8192, 1u << 20, 0x500000, 22}}};
};

TEST_F(WorkRequestsTest, OnePieceForAVerb) {
  const std::byte tail[10] = {};
  chain_.Write(100, 0, 20, tail, 10);
  chain_.CompareSwap(4096, 5, 6);
  chain_.FetchAdd(4104, 7);
  chain_.Read(8192, 128, 256);
  chain_.ReadWord(8200);
  const Segment segment = Cut();
  ASSERT_EQ(segment.count, 5u);
  EXPECT_EQ(cursor_.work, 5u);
  const Piece expected[] = {
      {PieceKind::kWrite, 0, 30, 0, 0, 11, 0x100064},
      {PieceKind::kCompareSwap, 1, 8, 0, 32, 11, 0x101000},
      {PieceKind::kFetchAdd, 2, 8, 0, 40, 11, 0x101008},
      {PieceKind::kRead, 3, 128, 0, 48, 22, 0x500000},
      {PieceKind::kRead, 4, 8, 0, 176, 22, 0x500008},
  };
  for (uint32_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(segment.pieces[i].kind, expected[i].kind);
    EXPECT_EQ(segment.pieces[i].work, expected[i].work);
    EXPECT_EQ(segment.pieces[i].bytes, expected[i].bytes);
    EXPECT_EQ(segment.pieces[i].offset, expected[i].offset);
    EXPECT_EQ(segment.pieces[i].staging, expected[i].staging);
    EXPECT_EQ(segment.pieces[i].key, expected[i].key);
    EXPECT_EQ(segment.pieces[i].address, expected[i].address);
  }
  EXPECT_EQ(segment.staging_bytes, 184u);
  EXPECT_EQ(StagingNeeded(chain_, {}, 5), 184u);
}

TEST_F(WorkRequestsTest, CutsWhereTheKeyChanges) {
  chain_.Read(8188, 8, 0);
  const Segment segment = Cut();
  ASSERT_EQ(segment.count, 2u);
  EXPECT_EQ(segment.pieces[0].bytes, 4u);
  EXPECT_EQ(segment.pieces[0].key, 11u);
  EXPECT_EQ(segment.pieces[1].bytes, 4u);
  EXPECT_EQ(segment.pieces[1].offset, 4u);
  EXPECT_EQ(segment.pieces[1].key, 22u);
  EXPECT_EQ(segment.pieces[1].address, 0x500000u);
}

TEST_F(WorkRequestsTest, CutsLongMessagesAtWords) {
  chain_.Read(8195, 1000, 0);
  const Segment segment = Cut({kMaxPieces, 1u << 20, 300});
  ASSERT_EQ(segment.count, 4u);
  uint32_t offset = 0;
  for (uint32_t i = 0; i < segment.count; ++i) {
    EXPECT_EQ(segment.pieces[i].offset, offset);
    EXPECT_LE(segment.pieces[i].bytes, 300u);
    offset += segment.pieces[i].bytes;
    if (i + 1 < segment.count) {
      EXPECT_EQ((8195 + offset) % 8, 0u) << "in the middle of a word";
    }
  }
  EXPECT_EQ(offset, 1000u);
}

TEST_F(WorkRequestsTest, GoesOnInTheNextSegment) {
  chain_.Write(8192, 0, 40'000, nullptr, 0);
  chain_.Read(8192, 10'000, 0);
  chain_.ReadWord(0);
  uint32_t segments = 0, read = 0, written = 0, words = 0;
  while (cursor_.work < chain_.count) {
    const Segment segment = Cut({3, 16'384, 9000});
    ASSERT_GT(segment.count, 0u);
    ASSERT_LE(segment.count, 3u);
    ASSERT_LE(segment.staging_bytes, 16'384u);
    for (uint32_t i = 0; i < segment.count; ++i) {
      const Piece& piece = segment.pieces[i];
      ASSERT_LE(piece.bytes, 9000u);
      if (piece.work == 0) {
        EXPECT_EQ(piece.offset, written);
        written += piece.bytes;
      } else if (piece.work == 1) {
        EXPECT_EQ(piece.offset, read);
        read += piece.bytes;
      } else {
        ++words;
      }
    }
    ++segments;
    EXPECT_EQ(StagingNeeded(chain_, cursor_, 3) == 0, cursor_.work == 3);
  }
  EXPECT_EQ(written, 40'000u);
  EXPECT_EQ(read, 10'000u);
  EXPECT_EQ(words, 1u);
  EXPECT_GE(segments, 4u);
}

TEST_F(WorkRequestsTest, NoPieceWithoutBytes) {
  chain_.Read(64, 0, 0);
  chain_.Write(64, 0, 0, nullptr, 0);
  EXPECT_EQ(Cut().count, 0u);
  EXPECT_EQ(cursor_.work, 2u);
}

TEST_F(WorkRequestsTest, CopiesWhatIsWrittenFromScratchAndTail) {
  std::vector<std::byte> tail(5000);
  std::mt19937 random(1);
  for (auto& b : tail) b = static_cast<std::byte>(random());
  for (auto& b : scratch_) b = static_cast<std::byte>(random());
  chain_.Write(8195, 16, 777, tail.data(), 5000);
  std::vector<std::byte> expected(scratch_.begin() + 16, scratch_.begin() + 16 + 777);
  expected.insert(expected.end(), tail.begin(), tail.end());
  std::vector<std::byte> got;
  while (cursor_.work < 1) {
    const Segment segment = Cut({2, 1024, 500});
    std::vector<std::byte> staging(1024);
    StageWrites(chain_, segment, staging.data());
    for (uint32_t i = 0; i < segment.count; ++i) {
      const std::byte* from = staging.data() + segment.pieces[i].staging;
      got.insert(got.end(), from, from + segment.pieces[i].bytes);
    }
  }
  EXPECT_EQ(got, expected);
}

TEST_F(WorkRequestsTest, PutsWhatWasReadWhereItBelongs) {
  std::byte sink[64] = {};
  chain_.Read(0, 64, 1000).sink = sink;
  chain_.Read(64, 16, 2000);
  chain_.ReadWord(128);
  chain_.CompareSwap(136, 1, 2);
  chain_.FetchAdd(144, 3);
  chain_.ReadByReference(256, 8, 3000);
  const Segment segment = Cut();
  std::vector<std::byte> staging(segment.staging_bytes);
  for (uint32_t i = 0; i < segment.count; ++i) {
    std::memset(staging.data() + segment.pieces[i].staging, static_cast<int>(i + 1),
                segment.pieces[i].bytes);
  }
  TakeReads(chain_, segment, staging.data());
  EXPECT_EQ(sink[63], std::byte{1});
  EXPECT_EQ(scratch_[2015], std::byte{2});
  EXPECT_EQ(scratch_[2016], std::byte{0});
  EXPECT_EQ(chain_.work[2].result, 0x0303030303030303u);
  EXPECT_EQ(chain_.work[3].result, 0x0404040404040404u);
  EXPECT_EQ(chain_.work[4].result, 0x0505050505050505u);
  EXPECT_EQ(scratch_[3007], std::byte{6});
  EXPECT_EQ(ReadTarget(chain_, chain_.work[0]), sink);
  EXPECT_EQ(ReadTarget(chain_, chain_.work[5]), scratch_.data() + 3000);
}

TEST_F(WorkRequestsTest, SignalsTheLast) {
  chain_.Read(0, 8, 0);
  chain_.Read(8, 8, 8);
  chain_.Write(64, 0, 8, nullptr, 0);
  const Segment segment = Cut();
  EXPECT_EQ(SignalledPieces(segment, false), 0b100u);
  EXPECT_EQ(SignalledPieces(segment, true), 0b110u) << "the last READ as well";
}

TEST_F(WorkRequestsTest, OneSignalIfTheLastIsARead) {
  chain_.Write(64, 0, 8, nullptr, 0);
  chain_.Read(0, 8, 0);
  chain_.Read(8, 8, 8);
  EXPECT_EQ(SignalledPieces(Cut(), true), 0b100u);
}

TEST_F(WorkRequestsTest, ConfirmsAWriteAtTheEnd) {
  chain_.Read(0, 8, 0);
  chain_.Write(64, 0, 5, nullptr, 0);
  Segment segment = Cut();
  AddConfirmation(segment);
  ASSERT_EQ(segment.count, 3u);
  EXPECT_EQ(segment.pieces[2].kind, PieceKind::kConfirm);
  EXPECT_EQ(segment.pieces[2].bytes, 5u);
  EXPECT_EQ(segment.pieces[2].address, segment.pieces[1].address);
  EXPECT_EQ(SignalledPieces(segment, true), 0b100u);
  // What it reads goes nowhere.
  std::vector<std::byte> staging(segment.staging_bytes, std::byte{9});
  const auto before = scratch_;
  Chain only_write;
  only_write.scratch = scratch_.data();
  TakeReads(chain_, segment, staging.data());
  EXPECT_TRUE(std::equal(before.begin() + 8, before.end(), scratch_.begin() + 8));
}

TEST_F(WorkRequestsTest, NothingToConfirmBehindARead) {
  chain_.Write(64, 0, 5, nullptr, 0);
  chain_.Read(0, 8, 0);
  Segment segment = Cut();
  AddConfirmation(segment);
  EXPECT_EQ(segment.count, 2u);
}

TEST_F(WorkRequestsTest, BuildsTheList) {
  chain_.Write(64, 0, 48, nullptr, 0);
  chain_.Write(256, 0, 49, nullptr, 0);
  chain_.CompareSwap(4096, 5, 6);
  chain_.FetchAdd(4104, 7);
  chain_.Read(8192, 16, 256);
  const Segment segment = Cut();
  std::vector<std::byte> staging(segment.staging_bytes);
  RequestArray requests;
  BufferArray buffers;
  BuildRequests(segment, {&chain_, staging.data(), 99, 48, 0x1200, SignalledPieces(segment, false)},
                requests, buffers);
  for (uint32_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(requests[i].wr_id, 0x1200u + i);
    EXPECT_EQ(requests[i].next, i < 4 ? &requests[i + 1] : nullptr);
    ASSERT_EQ(requests[i].num_sge, 1);
    EXPECT_EQ(requests[i].sg_list[0].lkey, 99u);
    EXPECT_EQ(requests[i].sg_list[0].length, segment.pieces[i].bytes);
    EXPECT_EQ(requests[i].sg_list[0].addr,
              reinterpret_cast<uintptr_t>(staging.data()) + segment.pieces[i].staging);
  }
  EXPECT_EQ(requests[0].opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(requests[0].send_flags, unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(requests[0].wr.rdma.remote_addr, 0x100040u);
  EXPECT_EQ(requests[0].wr.rdma.rkey, 11u);
  EXPECT_EQ(requests[1].send_flags, 0u) << "one byte too long to be inline";
  EXPECT_EQ(requests[2].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
  EXPECT_EQ(requests[2].send_flags, 0u);
  EXPECT_EQ(requests[2].wr.atomic.remote_addr, 0x101000u);
  EXPECT_EQ(requests[2].wr.atomic.compare_add, 5u);
  EXPECT_EQ(requests[2].wr.atomic.swap, 6u);
  EXPECT_EQ(requests[2].wr.atomic.rkey, 11u);
  EXPECT_EQ(requests[3].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
  EXPECT_EQ(requests[3].wr.atomic.compare_add, 7u);
  EXPECT_EQ(requests[4].opcode, IBV_WR_RDMA_READ);
  EXPECT_EQ(requests[4].send_flags, unsigned{IBV_SEND_SIGNALED});
  EXPECT_EQ(requests[4].wr.rdma.rkey, 22u);
}

TEST_F(WorkRequestsTest, DescribesPieces) {
  EXPECT_EQ(DescribePiece({PieceKind::kRead, 0, 128, 0, 0, 1, 0x4000}),
            "READ of 128 bytes at 0x4000");
  EXPECT_EQ(DescribePiece({PieceKind::kSend, 0, 20, 0, 0, 0, 0}), "message of 20 bytes");
  EXPECT_EQ(DescribePiece({PieceKind::kProbe, 0, 0, 0, 0, 0, 0}), "probe");
}

}  // namespace
}  // namespace dunlin
