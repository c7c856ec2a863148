#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace dunlin {

// The first page of a region. Everything before `tick` is written once, before the first client can
// see the region, and covered by `checksum`; the words after it change while clients read them
// (word by word: layout/word.h), written by the server alone, never by an atomic.
//
// Order in the region: superblock, session words, in cache mode their access strips, directory
// area, index (the first subtables), heap; each starts on a page.
inline constexpr uint64_t kSuperblockMagic = 0x314E494C4E5544ULL;  // "DUNLIN1" in memory
inline constexpr uint32_t kLayoutVersion = 2;
inline constexpr uint32_t kSuperblockBytes = 4096;

struct Superblock {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t superblock_bytes;
  uint64_t incarnation;  // differs at every start of a server
  uint64_t region_bytes;
  uint64_t hash_seed;
  uint32_t slots_per_bucket;
  uint32_t buckets_per_subtable;  // a power of two, at most 65,536
  uint64_t session_offset;
  uint32_t session_words;  // entries of kSessionWordBytes each
  uint32_t grace_ms;
  uint64_t directory_offset;
  uint64_t directory_bytes;
  uint64_t index_offset;
  uint64_t index_bytes;
  uint64_t heap_offset;
  uint64_t heap_bytes;
  uint64_t max_value_bytes;
  uint32_t max_key_bytes;
  uint32_t tick_period_ms;  // the tick lags behind the clock by at most this in good health
  uint64_t access_offset;   // of the access area (layout/access_log.h); 0: there is none
  uint64_t access_strips;   // of each session; 0: there are none
  uint64_t reserved0[7];    // zero
  uint64_t checksum;        // XXH3 of the bytes before it

  // The server's monotonic clock in milliseconds, starting above 0; expiry times are in it.
  alignas(64) uint64_t tick;
  uint64_t reserved1[7];

  alignas(64) uint64_t directory_root;  // DirectoryRoot
  uint64_t state;                       // ServerState
  uint64_t reserved2[6];

  uint64_t reserved3[(kSuperblockBytes - 384) / 8];
};
static_assert(sizeof(Superblock) == kSuperblockBytes);
static_assert(offsetof(Superblock, hash_seed) == 32);
static_assert(offsetof(Superblock, session_offset) == 48);
static_assert(offsetof(Superblock, directory_offset) == 64);
static_assert(offsetof(Superblock, max_value_bytes) == 112);
static_assert(offsetof(Superblock, access_offset) == 128);
static_assert(offsetof(Superblock, reserved0) == 144);
static_assert(offsetof(Superblock, checksum) == 200);
static_assert(offsetof(Superblock, tick) == 256);
static_assert(offsetof(Superblock, directory_root) == 320);
static_assert(std::is_trivially_copyable_v<Superblock>);

enum class ServerState : uint64_t { kStarting = 0, kServing = 1, kDraining = 2, kStopped = 3 };

// One session's word on a region whose sessions can't be fenced (shm): 0 while the session is
// between calls, else the tick that it saw when the call began or the oldest view was pinned. A
// block unlinked at tick T is not reused while any word lies in (0, T].
inline constexpr uint32_t kSessionWordBytes = 64;

// Seals the constant part. REQUIRES: all of it is filled in.
void SealSuperblock(Superblock& superblock);

// Empty if `superblock` describes a region of `mapped_bytes` that this build can use; otherwise
// what was expected and what was found. Trusts nothing in it.
std::string WhyNotUsable(const Superblock& superblock, uint64_t mapped_bytes);

// The same on the raw bytes of a region's beginning, which may be cut short.
std::string WhyNotUsable(std::span<const std::byte> region);

}  // namespace dunlin
