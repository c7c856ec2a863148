#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace dunlin {

// Messages of the lane between a session and its server. Each is a frame: this header, then `bytes`
// bytes of body. Little-endian. The body of kControl is a protobuf (proto/control.proto); all
// others are the fixed structs below, some followed by an array whose length they state.
enum class LaneKind : uint16_t {
  kControlRequest = 1,  // protobuf ControlRequest
  kControlReply = 2,    // protobuf ControlReply
  kBlocksRequest = 3,   // BlocksRequest
  kBlocksReply = 4,     // BlocksReply, then `count` block words
  kReturnBlocks = 5,    // ReturnBlocks, then `count` ReturnedBlock; no reply
  kHeartbeat = 6,       // empty; answered with kHeartbeat
  kExpireRequest = 7,   // ExpireRequest: for sessions that can't write
  kExpireReply = 8,     // empty; the record is expired or was replaced before
  kChainRequest = 9,    // ChainRequest, `count` ChainWork, the WRITEs' bytes
  kChainReply = 10,     // ChainReply, then what was read
  kExamineLock = 11,    // ExamineLock: somebody waits for a lock
  kLockExamined = 12,   // empty; look again
  kGrowRequest = 13,    // GrowRequest: an insert found no slot
  kGrowReply = 14,      // GrowReply
};
inline constexpr LaneKind kLastLaneKind = LaneKind::kGrowReply;

struct LaneFrame {
  uint32_t bytes;
  uint16_t kind;
  uint16_t reserved;  // zero
};
static_assert(sizeof(LaneFrame) == 8);

inline constexpr uint32_t kMaxLaneBody = 1u << 20;
// A chain may read or write so much beside its own description.
inline constexpr uint32_t kMaxChainBody = (1u << 20) + 4096;
// To wake the other side costs as much as tens of puts, so it is done once in thousands.
inline constexpr uint32_t kMaxBlocksPerBatch = 4096;

// Asks for one batch of blocks of one size class. For kRunClass, run_bytes says how long each must
// be and want is 1. Says on the way that every batch up to `resolved_batch` is resolved: each of
// its blocks is linked to the index or was returned.
struct BlocksRequest {
  uint32_t size_class;
  uint32_t want;  // 1..kMaxBlocksPerBatch; fewer may come
  uint64_t run_bytes;
  uint64_t resolved_batch;
};
static_assert(sizeof(BlocksRequest) == 24);

enum class BlocksOutcome : uint32_t {
  kOk = 0,
  kMemoryFull = 1,
  kDraining = 2,
  kRefused = 3,
  kRoomSoon = 4,  // a cache makes room: ask again in a moment
};

// The block words are slot words without fingerprint: offset, class and generation of each block.
// With them come version numbers for the records: [first_version, first_version + version_count).
struct BlocksReply {
  uint32_t outcome;  // BlocksOutcome
  uint32_t count;
  uint64_t batch;
  uint64_t first_version;
  uint64_t version_count;
};
static_assert(sizeof(BlocksReply) == 32);

struct ReturnBlocks {
  uint32_t count;
  uint32_t reserved;  // zero
  uint64_t resolved_batch;
};
static_assert(sizeof(ReturnBlocks) == 16);

// A block that the session unlinked, or got and never linked. `word` is the slot word (or the block
// word); the version of the record goes along for the server's log and checks, 0 if never written.
struct ReturnedBlock {
  uint64_t word;
  uint64_t version;
};
static_assert(sizeof(ReturnedBlock) == 16);

struct ExpireRequest {
  uint64_t slot_address;
  uint64_t word;
};
static_assert(sizeof(ExpireRequest) == 16);

// The lock in the bucket's header at `address`, found to be `word`. The server releases it if the
// holder is no more, and ends a holder that keeps it for too long.
struct ExamineLock {
  uint64_t address;
  uint64_t word;
};
static_assert(sizeof(ExamineLock) == 16);

// The subtable of the hashes that begin with `position` (kMaxDirectoryDepth bits) has no room for
// one of them; in the session's directory it is `depth` bits deep.
struct GrowRequest {
  uint32_t position;
  uint32_t depth;
};
static_assert(sizeof(GrowRequest) == 8);

enum class GrowOutcome : uint32_t {
  kGrows = 0,  // it has grown or is about to: look again
  kFull = 1,   // there is no memory for it, or it can't be any deeper
};
struct GrowReply {
  uint32_t outcome;   // GrowOutcome
  uint32_t reserved;  // zero
};
static_assert(sizeof(GrowReply) == 8);

// A chain, or what is left of it from its first atomic on, for the server to execute in order.
// Behind the works come a ChainFollow, then a ChainSwing with its key, if the flags say so, then
// the bytes of its WRITEs, in the order of the works, without gaps. The server answers with one
// ChainReply, in the order of the requests; a part that continues is not answered.
struct ChainRequest {
  uint32_t count;  // 1..kMaxWorks
  uint32_t flags;  // one of those below, or 0
};
static_assert(sizeof(ChainRequest) == 8);
inline constexpr uint32_t kChainContinues = 1;
inline constexpr uint32_t kChainFollows = 2;  // only where the server's welcome says so
inline constexpr uint32_t kChainSwings = kChainFollows | 4;

struct ChainWork {
  uint64_t remote;   // offset in the region
  uint32_t verb;     // Verb (fabric/chain.h)
  uint32_t length;   // bytes that it touches; 8 for the verbs on a word
  uint64_t compare;  // kCompareSwap, else zero
  uint64_t swap;     // kCompareSwap; the delta of kFetchAdd; else zero
};
static_assert(sizeof(ChainWork) == 32);

// The last two works READ two buckets: the records that their slots name are to be read along
// (Follow in fabric/chain.h).
struct ChainFollow {
  uint64_t heap_start;
  uint64_t heap_bytes;
  uint32_t fingerprint;
  uint32_t whole_bytes;
  uint32_t head_bytes;
  uint32_t reserved;  // zero
};
static_assert(sizeof(ChainFollow) == 32);
inline constexpr uint32_t kMostFollowedBytes = 512u << 10;

// In front of these READs is the CAS of the first bucket's lock: the slot that the key is found in,
// or a free one if it is in none, is to be swung along (Swing in fabric/chain.h).
struct ChainSwing {
  uint64_t word;
  uint32_t key_bytes;  // 1..kMostSwingKeyBytes; the key comes behind
  uint32_t replaces;   // 0 or 1
};
static_assert(sizeof(ChainSwing) == 16);

// Then for each work in order: the bytes that a kRead read, the word that a verb on a word found
// (8 bytes), nothing for a kWrite; then the records read along, and the words that the CASes done
// along found; without gaps.
struct ChainReply {
  uint32_t outcome;   // 0: all of it was executed; there is no other answer yet
  uint32_t reserved;  // zero
};
static_assert(sizeof(ChainReply) == 8);

static_assert(std::has_unique_object_representations_v<LaneFrame> &&
              std::has_unique_object_representations_v<BlocksRequest> &&
              std::has_unique_object_representations_v<BlocksReply> &&
              std::has_unique_object_representations_v<ReturnBlocks> &&
              std::has_unique_object_representations_v<ReturnedBlock> &&
              std::has_unique_object_representations_v<ExpireRequest> &&
              std::has_unique_object_representations_v<ExamineLock> &&
              std::has_unique_object_representations_v<GrowRequest> &&
              std::has_unique_object_representations_v<GrowReply> &&
              std::has_unique_object_representations_v<ChainRequest> &&
              std::has_unique_object_representations_v<ChainWork> &&
              std::has_unique_object_representations_v<ChainFollow> &&
              std::has_unique_object_representations_v<ChainSwing> &&
              std::has_unique_object_representations_v<ChainReply>);

// Empty if a frame with this header may follow; otherwise why the connection must be closed.
std::string WhyNotAFrame(const LaneFrame& frame);

// The same for the fixed part of a body of `body_bytes` bytes.
std::string WhyNotValid(const BlocksRequest& request, uint64_t body_bytes);
std::string WhyNotValid(const BlocksReply& reply, uint64_t body_bytes);
std::string WhyNotValid(const ReturnBlocks& message, uint64_t body_bytes);
std::string WhyNotValid(const ExpireRequest& request, uint64_t body_bytes);
std::string WhyNotValid(const ExamineLock& request, uint64_t body_bytes);
std::string WhyNotValid(const GrowRequest& request, uint64_t body_bytes);
std::string WhyNotValid(const GrowReply& reply, uint64_t body_bytes);

}  // namespace dunlin
