#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// What the two sides of raw_verbs agree on: how they greet each other, and the server's memory.
// Both are of one build on machines of one byte order.

namespace dunlin::bench {

// How a side waits for completions.
enum class PollMode : uint32_t {
  kSpin,   // asks again at once
  kYield,  // lets other threads run in between: on one CPU, the kernel's and the other side's
  kBlock,  // sleeps on a completion channel
};

inline constexpr uint32_t kRawMagic = 0x52415756;

// In the client's connect request.
struct RawHello {
  uint32_t magic = kRawMagic;
  PollMode poll = PollMode::kBlock;  // how the server shall wait for this client's messages
};

// In the server's answer.
struct RawOffer {
  uint32_t magic = kRawMagic;
  uint32_t rkey = 0;
  uint64_t address = 0;
  uint32_t has_atomics = 0;
  uint32_t reserved = 0;
};

// The server's memory: what clients READ, what they WRITE, and a word for atomics on its own page.
inline constexpr size_t kReadArea = size_t{1} << 20;
inline constexpr size_t kWriteArea = size_t{1} << 20;
inline constexpr size_t kWordOffset = kReadArea + kWriteArea;
inline constexpr size_t kRegionBytes = kWordOffset + 4096;

// The largest message of a ping-pong, and how many of them each side has buffers for.
inline constexpr size_t kMessageBytes = 4096;
inline constexpr uint32_t kMessages = 16;

// Fills the area for READs with what both sides know it to be: no word is there twice.
void FillReadArea(std::span<std::byte> area);

}  // namespace dunlin::bench
