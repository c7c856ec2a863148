#include "server/lane_parser.h"

#include <gtest/gtest.h>

#include <cstring>

#include "common/base/random.h"

namespace dunlin {
namespace {

std::vector<std::byte> Frame(uint16_t kind, size_t bytes, uint16_t reserved = 0) {
  LaneFrame frame{static_cast<uint32_t>(bytes), kind, reserved};
  std::vector<std::byte> out(sizeof frame + bytes, std::byte{0x5A});
  std::memcpy(out.data(), &frame, sizeof frame);
  return out;
}

TEST(LaneParser, FramesInOnePiece) {
  LaneParser parser;
  LaneParser::Frame frame;
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kNeedsMore);
  parser.Append(Frame(6, 0));
  parser.Append(Frame(3, 24));
  ASSERT_EQ(parser.Peek(frame), LaneParser::State::kFrame);
  EXPECT_EQ(frame.kind, LaneKind::kHeartbeat);
  ASSERT_EQ(parser.Peek(frame), LaneParser::State::kFrame) << "Peek takes nothing";
  parser.Pop();
  ASSERT_EQ(parser.Peek(frame), LaneParser::State::kFrame);
  EXPECT_EQ(frame.kind, LaneKind::kBlocksRequest);
  EXPECT_EQ(frame.body.size(), 24u);
  parser.Pop();
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kNeedsMore);
  EXPECT_EQ(parser.buffered(), 0u);
}

TEST(LaneParser, WhatIsAheadIsShownOnceAndNotTooEarly) {
  constexpr size_t kFrames = 40;
  constexpr size_t kMost = 3;
  std::vector<std::byte> stream;
  for (size_t i = 0; i < kFrames; ++i) {
    std::vector<std::byte> frame = Frame(1, i);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  Random random(6);
  for (int round = 0; round < 50; ++round) {
    LaneParser parser;
    LaneParser::Frame frame;
    size_t current = 0;
    size_t next_ahead = 1;
    size_t shown = 0;
    for (size_t at = 0; at < stream.size();) {
      const size_t n = std::min<size_t>(stream.size() - at, random.Between(1, 300));
      parser.Append({stream.data() + at, n});
      at += n;
      while (parser.Peek(frame) == LaneParser::State::kFrame) {
        ASSERT_EQ(frame.body.size(), current);
        next_ahead = std::max(next_ahead, current + 1);
        while (parser.PeekAhead(kMost, frame)) {
          ASSERT_EQ(frame.body.size(), next_ahead++);
          ASSERT_LE(frame.body.size(), current + kMost);
          ++shown;
        }
        parser.Pop();
        ++current;
      }
    }
    EXPECT_EQ(current, kFrames);
    EXPECT_GT(shown, kFrames / 4);
  }
}

TEST(LaneParser, ABrokenFrameAheadDoesNotBreakTheOneBefore) {
  LaneParser parser;
  LaneParser::Frame frame;
  parser.Append(Frame(6, 0));
  parser.Append(Frame(999, 0));
  ASSERT_EQ(parser.Peek(frame), LaneParser::State::kFrame);
  EXPECT_FALSE(parser.PeekAhead(4, frame));
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kFrame);
  parser.Pop();
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kBroken);
}

TEST(LaneParser, AnySplitGivesTheSameFrames) {
  std::vector<std::byte> stream;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{24}, size_t{5000}, size_t{kMaxLaneBody}}) {
    std::vector<std::byte> frame = Frame(1, bytes);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    LaneParser parser;
    LaneParser::Frame frame;
    std::vector<size_t> sizes;
    for (size_t at = 0; at < stream.size();) {
      size_t n =
          std::min<size_t>(stream.size() - at, random.Between(1, random.OneIn(3) ? 9 : 90000));
      parser.Append({stream.data() + at, n});
      at += n;
      while (parser.Peek(frame) == LaneParser::State::kFrame) {
        sizes.push_back(frame.body.size());
        parser.Pop();
      }
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{0, 1, 24, 5000, kMaxLaneBody}));
  }
}

TEST(LaneParser, GarbageBreaksTheStreamForGood) {
  LaneParser parser;
  LaneParser::Frame frame;
  const char* text = "GET / HTTP/1.1\r\n\r\n";
  parser.Append(std::as_bytes(std::span(text, std::strlen(text))));
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kBroken);
  EXPECT_FALSE(parser.why().empty());
  parser.Append(Frame(6, 0));
  EXPECT_EQ(parser.Peek(frame), LaneParser::State::kBroken);
}

TEST(LaneParser, OversizedAndUnknownFramesAreBrokenBeforeTheirBodyComes) {
  for (const auto& bytes :
       {Frame(1, kMaxLaneBody + 1), Frame(0, 0), Frame(static_cast<uint16_t>(kLastLaneKind) + 1, 0),
        Frame(9, kMaxChainBody + 1), Frame(6, 0, 1)}) {
    LaneParser parser;
    LaneParser::Frame frame;
    parser.Append({bytes.data(), sizeof(LaneFrame)});
    EXPECT_EQ(parser.Peek(frame), LaneParser::State::kBroken);
  }
}

}  // namespace
}  // namespace dunlin
