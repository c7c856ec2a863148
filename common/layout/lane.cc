#include "common/layout/lane.h"

#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "common/layout/record.h"
#include "common/layout/size_class.h"

namespace dunlin {
namespace {

std::string WrongSize(const char* what, uint64_t expected, uint64_t found) {
  return std::string(what) + ": expected " + std::to_string(expected) + " bytes, found " +
         std::to_string(found);
}

}  // namespace

std::string WhyNotAFrame(const LaneFrame& frame) {
  if (frame.reserved != 0) return "lane frame: reserved bits are set";
  if (frame.kind < static_cast<uint16_t>(LaneKind::kControlRequest) ||
      frame.kind > static_cast<uint16_t>(kLastLaneKind)) {
    return "lane frame: unknown kind " + std::to_string(frame.kind);
  }
  const LaneKind kind = static_cast<LaneKind>(frame.kind);
  const bool chain = kind == LaneKind::kChainRequest || kind == LaneKind::kChainReply;
  const uint32_t most = chain ? kMaxChainBody : kMaxLaneBody;
  if (frame.bytes > most) {
    return "lane frame: body of " + std::to_string(frame.bytes) + " bytes, at most " +
           std::to_string(most);
  }
  return "";
}

std::string WhyNotValid(const BlocksRequest& request, uint64_t body_bytes) {
  if (body_bytes != sizeof request) {
    return WrongSize("blocks request", sizeof request, body_bytes);
  }
  if (request.size_class > kRunClass || !IsBlockClass(static_cast<SizeClass>(request.size_class))) {
    return "blocks request: no size class " + std::to_string(request.size_class);
  }
  if (request.want == 0 || request.want > kMaxBlocksPerBatch) {
    return "blocks request: wants " + std::to_string(request.want) + " blocks, at most " +
           std::to_string(kMaxBlocksPerBatch);
  }
  bool run = request.size_class == kRunClass;
  uint64_t most = RecordBytes(kMaxKeyBytes, kHardMaxValueBytes, true);
  if (run ? request.want != 1 || request.run_bytes <= kLargestSlabBlock || request.run_bytes > most
          : request.run_bytes != 0) {
    return "blocks request: a run of " + std::to_string(request.run_bytes) + " bytes, " +
           std::to_string(request.want) + " wanted, in class " + std::to_string(request.size_class);
  }
  return "";
}

std::string WhyNotValid(const BlocksReply& reply, uint64_t body_bytes) {
  if (reply.outcome > static_cast<uint32_t>(BlocksOutcome::kRoomSoon)) {
    return "blocks reply: unknown outcome " + std::to_string(reply.outcome);
  }
  if (reply.count > kMaxBlocksPerBatch || reply.version_count < reply.count) {
    return "blocks reply: " + std::to_string(reply.count) + " blocks and " +
           std::to_string(reply.version_count) + " versions";
  }
  uint64_t expected = sizeof reply + uint64_t{reply.count} * sizeof(uint64_t);
  if (body_bytes != expected) return WrongSize("blocks reply", expected, body_bytes);
  return "";
}

std::string WhyNotValid(const ReturnBlocks& message, uint64_t body_bytes) {
  if (message.reserved != 0) return "blocks returned: reserved bits are set";
  uint64_t expected = sizeof message + uint64_t{message.count} * sizeof(ReturnedBlock);
  if (body_bytes != expected) return WrongSize("blocks returned", expected, body_bytes);
  return "";
}

std::string WhyNotValid(const ExpireRequest& request, uint64_t body_bytes) {
  if (body_bytes != sizeof request) {
    return WrongSize("expire request", sizeof request, body_bytes);
  }
  if (request.slot_address % 8 != 0) return "expire request: address of no slot";
  return "";
}

std::string WhyNotValid(const ExamineLock& request, uint64_t body_bytes) {
  if (body_bytes != sizeof request) {
    return WrongSize("lock to be examined", sizeof request, body_bytes);
  }
  if (request.address % kBucketBytes != 0) return "lock to be examined: address of no bucket";
  return "";
}

std::string WhyNotValid(const GrowRequest& request, uint64_t body_bytes) {
  if (body_bytes != sizeof request) return WrongSize("grow request", sizeof request, body_bytes);
  if (request.position >> kMaxDirectoryDepth != 0 || request.depth > kMaxDirectoryDepth) {
    return "grow request: no position " + std::to_string(request.position) + " or depth " +
           std::to_string(request.depth);
  }
  return "";
}

std::string WhyNotValid(const GrowReply& reply, uint64_t body_bytes) {
  if (body_bytes != sizeof reply) return WrongSize("grow reply", sizeof reply, body_bytes);
  if (reply.outcome > static_cast<uint32_t>(GrowOutcome::kFull) || reply.reserved != 0) {
    return "grow reply: unknown outcome " + std::to_string(reply.outcome);
  }
  return "";
}

}  // namespace dunlin
