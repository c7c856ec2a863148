#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/layout/record.h"

namespace dunlin {

// Hash of a key: XXH3 (64 bits), seeded by the server so that nobody outside can aim at one bucket.
uint64_t HashKey(std::span<const std::byte> key, uint64_t seed);

// Checksum of a record over header word, version, expiry (0 if it has none), key and value: XXH3 of
// the value, seeded with XXH3 of the key, seeded with the mixed header. Two calls instead of one
// stream, so that key and value need not lie in one buffer.
uint64_t RecordChecksum(RecordHeader header, uint64_t version, uint64_t expiry,
                        std::span<const std::byte> key, std::span<const std::byte> value);

// The same for a value that comes in pieces. Not thread safe.
class RecordChecksumStream {
 public:
  RecordChecksumStream(RecordHeader header, uint64_t version, uint64_t expiry,
                       std::span<const std::byte> key);
  void Add(std::span<const std::byte> value);
  // Of what was added so far.
  uint64_t Sum() const;

 private:
  struct State;
  struct FreeState {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, FreeState> state_;
};

}  // namespace dunlin
