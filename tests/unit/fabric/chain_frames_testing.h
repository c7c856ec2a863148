#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/on_mapping.h"

namespace dunlin::testing {

using Bytes = std::vector<std::byte>;

inline std::vector<Bytes> Compose(const Chain& chain, uint32_t first = 0) {
  std::vector<Bytes> bodies;
  Bytes buffer;
  ComposeChainRequests(chain, first, buffer, [&](std::span<const std::byte> body) {
    bodies.emplace_back(body.begin(), body.end());
  });
  return bodies;
}

inline Bytes RandomBytes(Random& random, size_t count) {
  Bytes bytes(count);
  for (std::byte& each : bytes) each = std::byte(random.Next());
  return bytes;
}

// What a server does with the bodies. Returns the reply to the last.
inline Bytes Serve(const std::vector<Bytes>& bodies, Bytes& region) {
  Bytes reply;
  for (size_t i = 0; i < bodies.size(); ++i) {
    ReceivedChain received;
    EXPECT_EQ(ParseChainRequest(bodies[i], region.size(), false, &received), "");
    EXPECT_EQ(received.continues, i + 1 != bodies.size());
    reply.assign(received.reply_bytes, std::byte{0xEE});
    PlaceChainReply(received, reply);
    ExecuteChain(received.chain, region.data());
    FinishChainReply(received, reply);
    if (!received.chain.follow.wanted) continue;
    const auto carry_out = [&](Chain& chain) { ExecuteChain(chain, region.data()); };
    CarryOutWish(received, carry_out, [&](uint64_t bytes) {
      reply.resize(bytes);
      return std::span(reply);
    });
  }
  return reply;
}

}  // namespace dunlin::testing
