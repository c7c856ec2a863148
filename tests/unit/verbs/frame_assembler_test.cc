#include "common/fabric/verbs/frame_assembler.h"

#include <cstring>
#include <random>

#include "common/fabric/verbs/out_stream.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

std::vector<std::byte> Body(size_t bytes, unsigned seed) {
  std::vector<std::byte> body(bytes);
  for (size_t i = 0; i < bytes; ++i) body[i] = static_cast<std::byte>(i * 31 + seed);
  return body;
}

TEST(FrameAssemblerTest, WhateverTheCuts) {
  std::mt19937 random(5);
  for (int run = 0; run < 200; ++run) {
    std::vector<std::byte> stream;
    std::vector<std::vector<std::byte>> sent;
    for (unsigned i = 0; i < 20; ++i) {
      sent.push_back(Body(random() % 4 == 0 ? 0 : random() % 300, i));
      AppendLaneFrame(LaneKind::kBlocksReply, sent.back(), {}, stream);
    }
    FrameAssembler assembler;
    std::vector<std::vector<std::byte>> got;
    for (size_t at = 0; at < stream.size();) {
      const size_t piece = std::min<size_t>(1 + random() % 50, stream.size() - at);
      const std::string why = assembler.Add(std::span(stream).subspan(at, piece),
                                            [&](LaneKind kind, std::span<const std::byte> body) {
                                              EXPECT_EQ(kind, LaneKind::kBlocksReply);
                                              got.emplace_back(body.begin(), body.end());
                                              return std::string();
                                            });
      ASSERT_EQ(why, "");
      at += piece;
    }
    ASSERT_EQ(got, sent);
    EXPECT_FALSE(assembler.in_frame());
  }
}

TEST(FrameAssemblerTest, RefusesWhatIsNoFrame) {
  LaneFrame frame{};
  frame.bytes = kMaxChainBody + 1;
  frame.kind = static_cast<uint16_t>(LaneKind::kBlocksReply);
  const auto take = [](LaneKind, std::span<const std::byte>) { return std::string(); };
  EXPECT_NE(FrameAssembler().Add(std::as_bytes(std::span(&frame, 1)), take), "");
  // In pieces, too, before its body is waited for.
  FrameAssembler assembler;
  const auto bytes = std::as_bytes(std::span(&frame, 1));
  EXPECT_EQ(assembler.Add(bytes.first(5), take), "");
  EXPECT_TRUE(assembler.in_frame());
  EXPECT_NE(assembler.Add(bytes.subspan(5), take), "");
}

TEST(FrameAssemblerTest, PassesOnARefusal) {
  std::vector<std::byte> stream;
  AppendLaneFrame(LaneKind::kHeartbeat, {}, {}, stream);
  const auto refuse = [](LaneKind, std::span<const std::byte>) { return std::string("no"); };
  EXPECT_EQ(FrameAssembler().Add(stream, refuse), "no");
}

}  // namespace
}  // namespace dunlin
