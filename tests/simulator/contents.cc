#include "tests/simulator/contents.h"

#include <cstring>

#include "common/base/random.h"
#include "common/layout/checksum.h"

namespace dunlin::simulator {
namespace {

constexpr uint64_t kWhole = 24;

void Fill(uint64_t seed, std::string* value, uint64_t from) {
  for (uint64_t at = from; at < value->size(); at += 8) {
    const uint64_t word = SplitMix64(seed);
    std::memcpy(value->data() + at, &word, std::min<uint64_t>(8, value->size() - at));
  }
}

}  // namespace

std::string KeyName(uint32_t key) {
  uint64_t state = key;
  const uint64_t drawn = SplitMix64(state);
  std::string name = "key " + std::to_string(key);
  // Most are short, some are not, and some fill half a page.
  if (drawn % 8 == 0) name.append(drawn / 8 % 60, '.');
  if (drawn % 32 == 1) name.append(2000, '.');
  return name;
}

std::string ComposeValue(uint32_t key, uint64_t number, uint64_t bytes) {
  std::string value(bytes, 'v');
  if (bytes < kWhole) {
    Fill(number << 32 | key, &value, 1);
    return value;
  }
  std::memcpy(value.data() + 4, &key, sizeof key);
  std::memcpy(value.data() + 8, &number, sizeof number);
  std::memcpy(value.data() + 16, &bytes, sizeof bytes);
  Fill(number << 32 | key, &value, kWhole);
  return value;
}

std::string WhyNotOf(uint32_t key, std::span<const std::byte> value) {
  if (value.size() < kWhole) return "";
  uint32_t found_key = 0;
  uint64_t number = 0;
  uint64_t bytes = 0;
  std::memcpy(&found_key, value.data() + 4, sizeof found_key);
  std::memcpy(&number, value.data() + 8, sizeof number);
  std::memcpy(&bytes, value.data() + 16, sizeof bytes);
  if (found_key != key) return "a value of key " + std::to_string(found_key);
  if (bytes != value.size()) {
    return "expected " + std::to_string(bytes) + " bytes, found " + std::to_string(value.size());
  }
  const std::string whole = ComposeValue(key, number, bytes);
  if (std::memcmp(whole.data(), value.data(), bytes) != 0) {
    return "not the bytes of value " + std::to_string(number);
  }
  return "";
}

uint64_t ValueNumber(std::span<const std::byte> value) { return HashKey(value, value.size()); }

}  // namespace dunlin::simulator
