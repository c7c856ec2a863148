#include "common/fabric/verbs/work_requests.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// siw (Linux 6.1, siw_try_1seg) answers a READ of up to so many bytes that crosses a page's border
// with parts of wrong lengths, so such a READ is cut there.
constexpr uint32_t kShortRead = 32;
constexpr uint64_t kPage = 4096;

uint64_t BytesOf(const Work& work) { return uint64_t{work.length} + work.tail_length; }

PieceKind KindOf(Verb verb) {
  switch (verb) {
    case Verb::kRead:
    case Verb::kReadWord:
      return PieceKind::kRead;
    case Verb::kWrite:
      return PieceKind::kWrite;
    case Verb::kCompareSwap:
      return PieceKind::kCompareSwap;
    case Verb::kFetchAdd:
      return PieceKind::kFetchAdd;
  }
  DUNLIN_UNREACHABLE();
}

bool IsAtomic(PieceKind kind) {
  return kind == PieceKind::kCompareSwap || kind == PieceKind::kFetchAdd;
}

// Bytes [offset, offset + bytes) of what the work writes: first the scratch's, then the tail's.
void CopyWritten(const Chain& chain, const Work& work, uint32_t offset, uint32_t bytes,
                 std::byte* to) {
  const uint32_t of_head = offset < work.length ? std::min(bytes, work.length - offset) : 0;
  CopyBytes(to, chain.scratch + work.local + offset, of_head);
  if (of_head == bytes) return;
  CopyBytes(to + of_head, work.tail + (offset + of_head - work.length), bytes - of_head);
}

ibv_wr_opcode OpcodeOf(PieceKind kind) {
  switch (kind) {
    case PieceKind::kRead:
    case PieceKind::kConfirm:
      return IBV_WR_RDMA_READ;
    case PieceKind::kWrite:
    case PieceKind::kProbe:
      return IBV_WR_RDMA_WRITE;
    case PieceKind::kCompareSwap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case PieceKind::kFetchAdd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case PieceKind::kSend:
      return IBV_WR_SEND;
  }
  DUNLIN_UNREACHABLE();
}

bool MayBeInline(const Piece& piece, uint32_t max_inline) {
  const bool sends = piece.kind == PieceKind::kWrite || piece.kind == PieceKind::kSend;
  return sends && piece.bytes <= max_inline;
}

}  // namespace

uint64_t StagingNeeded(const Chain& chain, ChainCursor from, uint32_t end) {
  uint64_t bytes = 0;
  for (uint32_t i = from.work; i < end; ++i) {
    const uint64_t left = BytesOf(chain.work[i]) - (i == from.work ? from.offset : 0);
    bytes += (left + kStagingAlignment - 1) & ~uint64_t{kStagingAlignment - 1};
  }
  return bytes;
}

void CutChain(const Chain& chain, uint32_t end, const KeyTable& keys, const SegmentLimits& limits,
              ChainCursor& cursor, Segment& segment) {
  for (; cursor.work < end; ++cursor.work, cursor.offset = 0) {
    const Work& work = chain.work[cursor.work];
    const uint64_t total = BytesOf(work);
    while (cursor.offset < total) {
      const uint32_t room = limits.max_bytes - segment.staging_bytes;
      if (segment.count == limits.max_pieces || room < kStagingAlignment) return;
      const uint64_t at = work.remote + cursor.offset;
      const MemoryKey& key = keys.At(at);
      const uint64_t in_key = key.bytes - (at - key.offset);
      uint32_t bytes = static_cast<uint32_t>(std::min(
          {total - cursor.offset, in_key, uint64_t{room}, uint64_t{limits.max_piece_bytes}}));
      const uint64_t address = key.address + (at - key.offset);
      const uint32_t in_page = static_cast<uint32_t>(kPage - address % kPage);
      if (KindOf(work.verb) == PieceKind::kRead && bytes <= kShortRead && bytes > in_page) {
        bytes = in_page;
      } else if (bytes != total - cursor.offset) {
        // A word that lies across the cut would not be read or written whole.
        bytes -= static_cast<uint32_t>((at + bytes) % kWordBytes);
      }
      if (bytes == 0) return;
      segment.pieces[segment.count++] = {KindOf(work.verb),
                                         static_cast<uint8_t>(cursor.work),
                                         bytes,
                                         cursor.offset,
                                         segment.staging_bytes,
                                         key.key,
                                         key.address + (at - key.offset)};
      segment.staging_bytes += StagingBytes(bytes);
      cursor.offset += bytes;
    }
  }
}

void AddConfirmation(Segment& segment) {
  if (segment.count == 0) return;
  const Piece& last = segment.pieces[segment.count - 1];
  if (last.kind != PieceKind::kWrite) return;
  segment.pieces[segment.count++] = {PieceKind::kConfirm,
                                     last.work,
                                     std::min(last.bytes, kStagingAlignment),
                                     0,
                                     segment.staging_bytes,
                                     last.key,
                                     last.address};
  segment.staging_bytes += kStagingAlignment;
}

std::byte* ReadTarget(const Chain& chain, const Work& work) {
  return work.sink != nullptr && !work.by_reference ? work.sink : chain.scratch + work.local;
}

void StageWrites(const Chain& chain, const Segment& segment, std::byte* staging) {
  for (uint32_t i = 0; i < segment.count; ++i) {
    const Piece& piece = segment.pieces[i];
    if (piece.kind != PieceKind::kWrite) continue;
    CopyWritten(chain, chain.work[piece.work], piece.offset, piece.bytes, staging + piece.staging);
  }
}

void TakeReads(Chain& chain, const Segment& segment, const std::byte* staging) {
  for (uint32_t i = 0; i < segment.count; ++i) {
    const Piece& piece = segment.pieces[i];
    Work& work = chain.work[piece.work];
    if (IsAtomic(piece.kind) || (piece.kind == PieceKind::kRead && IsWordVerb(work.verb))) {
      work.result = PlainWord(staging + piece.staging);
    } else if (piece.kind == PieceKind::kRead) {
      CopyBytes(ReadTarget(chain, work) + piece.offset, staging + piece.staging, piece.bytes);
    }
  }
}

uint32_t SignalledPieces(const Segment& segment, bool reads_apart) {
  const uint32_t last = segment.count - 1;
  uint32_t signalled = 1u << last;
  if (!reads_apart) return signalled;
  for (uint32_t i = last + 1; i-- > 0;) {
    if (OpcodeOf(segment.pieces[i].kind) == IBV_WR_RDMA_READ) return signalled | 1u << i;
  }
  return signalled;
}

void BuildRequests(const Segment& segment, const RequestContext& context, RequestArray& requests,
                   BufferArray& buffers) {
  for (uint32_t i = 0; i < segment.count; ++i) {
    const Piece& piece = segment.pieces[i];
    buffers[i] = {reinterpret_cast<uintptr_t>(context.staging + piece.staging), piece.bytes,
                  context.local_key};
    ibv_send_wr& request = requests[i];
    request = {};
    request.wr_id = context.id + i;
    request.next = i + 1 < segment.count ? &requests[i + 1] : nullptr;
    request.sg_list = &buffers[i];
    request.num_sge = piece.bytes != 0 ? 1 : 0;
    request.opcode = OpcodeOf(piece.kind);
    request.send_flags = (context.signalled >> i & 1) != 0 ? unsigned{IBV_SEND_SIGNALED} : 0;
    if (MayBeInline(piece, context.max_inline)) request.send_flags |= IBV_SEND_INLINE;
    if (IsAtomic(piece.kind)) {
      request.wr.atomic.remote_addr = piece.address;
      request.wr.atomic.rkey = piece.key;
      const Work& work = context.chain->work[piece.work];
      const bool adds = piece.kind == PieceKind::kFetchAdd;
      request.wr.atomic.compare_add = adds ? work.swap : work.compare;
      request.wr.atomic.swap = adds ? 0 : work.swap;
    } else if (piece.kind != PieceKind::kSend) {
      request.wr.rdma.remote_addr = piece.address;
      request.wr.rdma.rkey = piece.key;
    }
  }
}

std::string DescribePiece(const Piece& piece) {
  static constexpr const char* kNames[] = {
      "READ", "WRITE", "compare-and-swap", "fetch-and-add", "message", "confirming READ", "probe"};
  std::string text = kNames[static_cast<size_t>(piece.kind)];
  if (piece.kind == PieceKind::kProbe) return text;
  text += " of " + std::to_string(piece.bytes) + " bytes";
  if (piece.kind == PieceKind::kSend) return text;
  char address[32];
  std::snprintf(address, sizeof address, " at 0x%llx",
                static_cast<unsigned long long>(piece.address));
  return text + address;
}

}  // namespace dunlin
