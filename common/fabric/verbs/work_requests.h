#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/fabric/chain.h"
#include "common/fabric/verbs/key_table.h"

namespace dunlin {

// From the works of a chain to the work requests of a queue pair. Pure.

enum class PieceKind : uint8_t {
  kRead,   // part of a kRead, or a kReadWord
  kWrite,  // part of a kWrite
  kCompareSwap,
  kFetchAdd,
  kSend,     // a message
  kConfirm,  // a READ whose bytes nobody wants: it completes after the WRITEs before it
  kProbe,    // a WRITE of nothing
};

// One work request. Its bytes are in registered memory, `staging` bytes from where those of its
// segment start: what is to be written, or where what is read will be.
struct Piece {
  PieceKind kind;
  uint8_t work;  // of the chain
  uint32_t bytes;
  uint32_t offset;  // of its bytes in the work
  uint32_t staging;
  uint32_t key;
  uint64_t address;  // for the peer's adapter
};

// The work requests that are posted together.
inline constexpr uint32_t kMaxPieces = 16;
using PieceArray = std::array<Piece, kMaxPieces>;

// Each piece's bytes start at a multiple of this.
inline constexpr uint32_t kStagingAlignment = 8;
constexpr uint32_t StagingBytes(uint32_t bytes) {
  return (bytes + kStagingAlignment - 1) & ~(kStagingAlignment - 1);
}

// How far a chain has been cut into pieces.
struct ChainCursor {
  uint32_t work = 0;
  uint32_t offset = 0;  // in that work
};

// The staging bytes of the works from the cursor to before `end`, if they need no cut.
uint64_t StagingNeeded(const Chain& chain, ChainCursor from, uint32_t end);

struct SegmentLimits {
  uint32_t max_pieces;       // at most kMaxPieces
  uint32_t max_bytes;        // of staging in all; a multiple of 8, at least 16
  uint32_t max_piece_bytes;  // the longest message of the device; at least 16
};

struct Segment {
  uint32_t count = 0;
  uint32_t staging_bytes = 0;
  PieceArray pieces;
};

// Appends pieces for the works from `cursor` to before `end` as far as the limits permit, and moves
// the cursor behind them. Cuts where a work crosses from one memory key to the next, where it is
// longer than a message may be, and at the limits' end. Works without bytes make no piece.
void CutChain(const Chain& chain, uint32_t end, const KeyTable& keys, const SegmentLimits& limits,
              ChainCursor& cursor, Segment& segment);

// Where WRITEs complete before they have arrived (iWARP) and one is the segment's last piece,
// appends a small READ behind it. REQUIRES: a piece and kStagingAlignment bytes beyond the limits
// of CutChain.
void AddConfirmation(Segment& segment);

// Where what a kRead reads goes to.
std::byte* ReadTarget(const Chain& chain, const Work& work);

// Copies the bytes of the segment's WRITEs to `staging`, where the segment's bytes start.
void StageWrites(const Chain& chain, const Segment& segment, std::byte* staging);
// Copies what was read, and the atomics' results, from there to where the chain wants them.
void TakeReads(Chain& chain, const Segment& segment, const std::byte* staging);

// Which pieces are to be signalled, as bits. One is enough where a queue pair's requests complete
// in order: the last. Where READs complete apart from the rest (iWARP), the last READ as well.
uint32_t SignalledPieces(const Segment& segment, bool reads_apart);

struct RequestContext {
  const Chain* chain;  // whose atomics these are; null where there are none
  std::byte* staging;  // where the segment's bytes start
  uint32_t local_key;
  uint32_t max_inline;  // at most so many bytes are sent inline
  uint64_t id;          // wr_id of piece i is id + i
  uint32_t signalled;
};

// The list for ibv_post_send: requests[0] is its head. REQUIRES: segment.count != 0.
using RequestArray = std::array<ibv_send_wr, kMaxPieces>;
using BufferArray = std::array<ibv_sge, kMaxPieces>;
void BuildRequests(const Segment& segment, const RequestContext& context, RequestArray& requests,
                   BufferArray& buffers);

// For errors: "READ of 128 bytes at 0x7f..".
std::string DescribePiece(const Piece& piece);

}  // namespace dunlin
