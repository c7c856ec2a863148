#include "bench/kvbench/workload/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace dunlin::kvbench {
namespace {

// Java's String.hashCode() goes on from that of the string before.
uint32_t ExtendJavaHash(uint32_t hash, std::string_view text) {
  for (const char c : text) hash = 31 * hash + static_cast<unsigned char>(c);
  return hash;
}

// The digits of a number below 10^8, the first in the lowest byte. All eight at once: pairs of
// four, then of two, then single ones, each pair divided by a multiplication.
uint64_t EightDigits(uint64_t number) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t digits = number / 10'000 | number % 10'000 << 32;
  const uint64_t hundreds = digits * 10'486 >> 20 & 0x0000'007f'0000'007f;
  digits = hundreds | (digits - hundreds * 100) << 16;
  const uint64_t tens = digits * 103 >> 10 & 0x000f'000f'000f'000f;
  digits = tens | (digits - tens * 10) << 8;
  return digits + 0x3030'3030'3030'3030;
}

uint32_t DecimalWidth(uint64_t number) {
  static constexpr auto kPowers = [] {
    std::array<uint64_t, 20> powers{};
    uint64_t power = 1;
    for (uint64_t& each : powers) {
      each = power;
      power *= 10;
    }
    return powers;
  }();
  // 1233 / 4096 is a little over the logarithm of 2.
  number |= 1;  // 0 has a digit, too
  const auto guess = static_cast<uint32_t>(std::bit_width(number)) * 1233 >> 12;
  return guess + (number >= kPowers[guess] ? 1 : 0);
}

}  // namespace

ValuePool::ValuePool(size_t longest, Random& random)
    : groups_(std::max(kBytes, longest) / kGroup + 1) {
  bytes_.reserve(groups_ * kGroup + longest + kGroup);
  while (bytes_.size() < groups_ * kGroup + longest) {
    const auto draw = static_cast<uint32_t>(random.Next());
    for (const uint32_t each : {(draw & 31), (draw >> 5 & 63), (draw >> 10 & 95), (draw >> 15 & 31),
                                (draw >> 20 & 63), (draw >> 25 & 95)}) {
      bytes_ += static_cast<char>(each + ' ');
    }
  }
}

void MakeDeterministicValue(std::string_view key, std::string_view field, size_t length,
                            std::string& to) {
  to.assign(key);
  to += ':';
  to += field;
  uint32_t hash = ExtendJavaHash(0, to);
  while (to.size() < length) {
    to += ':';
    hash = ExtendJavaHash(hash, ":");
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof(digits), static_cast<int32_t>(hash)).ptr;
    const std::string_view text(digits, static_cast<size_t>(end - digits));
    to += text;
    hash = ExtendJavaHash(hash, text);
  }
  to.resize(length);
}

char* WriteKey(int64_t number, uint32_t zero_padding, char* to) {
  constexpr uint64_t kChunk = 100'000'000;
  constexpr uint32_t kMost = 24;
  std::memcpy(to, "user", 4);
  to += 4;
  if (number < 0) return std::to_chars(to, to + kMost, number).ptr;
  for (; zero_padding > kMost; --zero_padding) *to++ = '0';

  const auto all = static_cast<uint64_t>(number);
  uint32_t width = std::max(zero_padding, DecimalWidth(all));
  if (all < kChunk && width >= 8) {
    // Numbers of records mostly are, and have zeros before them.
    const uint64_t zeros[] = {EightDigits(0), EightDigits(0)}, text = EightDigits(all);
    std::memcpy(to, zeros, sizeof(zeros));
    if (width > 16) std::memcpy(to + 8, zeros, sizeof(zeros));
    std::memcpy(to + width - 8, &text, sizeof(text));
    return to + width;
  }
  // The last digits of a chunk, so many that `behind` more follow.
  const auto write = [&](uint64_t chunk, uint32_t behind) {
    if (width <= behind) return;
    const uint32_t digits = width - behind;
    const uint64_t text = EightDigits(chunk) >> (64 - 8 * digits);
    std::memcpy(to, &text, sizeof(text));
    to += digits;
    width = behind;
  };
  write(all / kChunk / kChunk, 16);
  write(all / kChunk % kChunk, 8);
  write(all % kChunk, 0);
  return to;
}

}  // namespace dunlin::kvbench
