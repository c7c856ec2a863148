#include "common/layout/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

namespace dunlin {

uint64_t HashKey(std::span<const std::byte> key, uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

namespace {

uint64_t SeedOfValue(RecordHeader header, uint64_t version, uint64_t expiry,
                     std::span<const std::byte> key) {
  uint64_t seed = header.raw() ^ std::rotl(version, 21) * 0x9E3779B97F4A7C15u ^
                  std::rotl(expiry, 42) * 0xC2B2AE3D27D4EB4Fu;
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

}  // namespace

uint64_t RecordChecksum(RecordHeader header, uint64_t version, uint64_t expiry,
                        std::span<const std::byte> key, std::span<const std::byte> value) {
  return XXH3_64bits_withSeed(value.data(), value.size(),
                              SeedOfValue(header, version, expiry, key));
}

struct RecordChecksumStream::State {
  XXH3_state_t xxh3;
};

void RecordChecksumStream::FreeState::operator()(State* state) const { delete state; }

RecordChecksumStream::RecordChecksumStream(RecordHeader header, uint64_t version, uint64_t expiry,
                                           std::span<const std::byte> key)
    : state_(new State) {
  XXH3_INITSTATE(&state_->xxh3);
  XXH3_64bits_reset_withSeed(&state_->xxh3, SeedOfValue(header, version, expiry, key));
}

void RecordChecksumStream::Add(std::span<const std::byte> value) {
  XXH3_64bits_update(&state_->xxh3, value.data(), value.size());
}

uint64_t RecordChecksumStream::Sum() const { return XXH3_64bits_digest(&state_->xxh3); }

}  // namespace dunlin
