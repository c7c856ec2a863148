// Chains as frames, from outside: a request that a client may send (it is refused, or carried out
// inside the region and composed again to the same), and a reply that a server may send (it is
// refused, or taken without a byte written beyond what the chain reads).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/follow.h"
#include "common/fabric/on_mapping.h"

namespace dunlin {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint64_t kRegionBytes = 4096;

// The bytes before the payload's end as the client would send them.
void CheckComposedAgain(const Chain& chain, std::span<const std::byte> body) {
  if (!ChainFitsFrames(chain, 0)) return;
  Bytes buffer;
  Bytes again;
  uint32_t bodies = 0;
  ComposeChainRequests(chain, 0, buffer, [&](std::span<const std::byte> composed) {
    again.assign(composed.begin(), composed.end());
    ++bodies;
  });
  DUNLIN_CHECK_EQ(bodies, 1u);
  DUNLIN_CHECK_EQ(again.size(), body.size());
  ReceivedChain second;
  DUNLIN_CHECK(ParseChainRequest(again, kRegionBytes, false, &second).empty());
  DUNLIN_CHECK_EQ(second.chain.count, chain.count);
  for (uint32_t i = 0; i < chain.count; ++i) {
    const Work& a = chain.work[i];
    const Work& b = second.chain.work[i];
    DUNLIN_CHECK(a.verb == b.verb && a.remote == b.remote && a.length == b.length);
    const bool swaps = a.verb == Verb::kCompareSwap || a.verb == Verb::kFetchAdd;
    DUNLIN_CHECK(!swaps || a.swap == b.swap);
  }
}

void Request(std::span<const std::byte> body, bool read_only) {
  alignas(8) static std::byte region[kRegionBytes];
  const Bytes before(region, region + kRegionBytes);
  ReceivedChain received;
  const std::string why = ParseChainRequest(body, kRegionBytes, read_only, &received);
  if (!why.empty()) return;
  DUNLIN_CHECK_LE(received.reply_bytes, uint64_t{kMaxChainBody});
  if (!received.continues) CheckComposedAgain(received.chain, body);
  Bytes reply(received.reply_bytes);
  PlaceChainReply(received, reply);
  ExecuteChain(received.chain, region);
  FinishChainReply(received, reply);
  Bytes records(MostFollowedBytes(received.chain.follow));
  if (received.chain.follow.wanted) {
    DUNLIN_CHECK_EQ(reply.size(), ChainReplyBytes(received.chain, 0));
    const auto carry_out = [&](Chain& chain) {
      DUNLIN_CHECK(ChainAllowed(chain, kRegionBytes, read_only));
      ExecuteChain(chain, region);
    };
    CarryOutWish(received, carry_out, [&](uint64_t bytes) {
      DUNLIN_CHECK_LE(bytes, uint64_t{kMaxChainBody});
      reply.resize(bytes);
      return std::span(reply);
    });
    received.chain.count = received.chain.asked();
    received.chain.followed = 0;
    received.chain.swung = 0;
    received.chain.scratch = records.data();
    received.chain.follow.stride = static_cast<uint32_t>(records.size() / kMostFollowed);
  }
  DUNLIN_CHECK(!read_only || std::equal(before.begin(), before.end(), region));
  DUNLIN_CHECK_EQ(reply.size(), received.reply_bytes);
  // The sender takes it.
  Bytes sinks(received.reply_bytes);
  size_t at = 0;
  for (uint32_t i = 0; i < received.chain.count; ++i) {
    Work& work = received.chain.work[i];
    if (work.verb != Verb::kRead) continue;
    work.sink = sinks.data() + at;
    at += work.length;
  }
  DUNLIN_CHECK(ApplyChainReply(received.chain, 0, reply).empty());
}

// Up to kMaxWorks bytes say which verbs the chain has; then comes the reply.
void Reply(std::span<const std::byte> input) {
  constexpr uint32_t kLength = 24;
  constexpr std::byte kUntouched{0x5C};
  const uint32_t count =
      1 + (input.empty() ? 0 : std::to_integer<uint32_t>(input[0]) / 32);  // at most kMaxWorks
  if (input.size() < count) return;
  Bytes sinks(size_t{kMaxWorks} * 2 * kLength, kUntouched);
  Chain chain;
  chain.scratch = sinks.data();
  for (uint32_t i = 0; i < count; ++i) {
    Work& work = chain.Add(static_cast<Verb>(std::to_integer<uint32_t>(input[i]) % 5), 8 * i);
    work.by_reference = false;
    work.sink = nullptr;
    work.result = 77;
    if (IsWordVerb(work.verb)) continue;
    work.length = std::to_integer<uint32_t>(input[i]) % (kLength + 1);
    work.local = 2 * kLength * i;
  }
  const auto reply = input.subspan(count);
  const std::string why = ApplyChainReply(chain, 0, reply);
  if (why.empty()) {
    ChainReply head;
    DUNLIN_CHECK_EQ(reply.size(), ChainReplyBytes(chain, 0));
    std::memcpy(&head, reply.data(), sizeof head);
    DUNLIN_CHECK(head.outcome == 0 && head.reserved == 0);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Work& work = chain.work[i];
    const bool reads = why.empty() && work.verb == Verb::kRead;
    const auto room = std::span(sinks).subspan(size_t{2} * kLength * i, 2 * kLength);
    const auto beyond = room.subspan(reads ? work.length : 0);
    DUNLIN_CHECK(
        std::all_of(beyond.begin(), beyond.end(), [](std::byte b) { return b == kUntouched; }));
    DUNLIN_CHECK(why.empty() || work.result == 77);
    DUNLIN_CHECK(!reads || work.data == room.data());
  }
}

}  // namespace
}  // namespace dunlin

// The first byte chooses: bit 1 a reply, bit 0 of a request a session that may only read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  const auto mode = std::to_integer<uint32_t>(input[0]);
  if ((mode & 2) != 0) {
    dunlin::Reply(input.subspan(1));
  } else {
    dunlin::Request(input.subspan(1), (mode & 1) != 0);
  }
  return 0;
}
