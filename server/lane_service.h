#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/fabric/endpoint.h"
#include "common/layout/lane.h"
#include "proto/control.pb.h"
#include "server/core.h"

namespace dunlin {

// What the server knows of one lane besides its session.
struct LanePeer {
  uint32_t pid = 0;
  // Over a network; null on shared memory. Borrowed.
  const EndpointPeer* remote = nullptr;
  bool can_be_fenced = false;     // we shall learn when its process has gone
  uint32_t session = 0;           // 0: none (yet)
  bool read_only = false;         // the session's
  uint64_t count_ticket = 0;      // of a status request that waits for a count
  uint64_t blocks_since = 0;      // tick at which a request for blocks was first put off
  uint64_t blocks_again = 0;      // ... and last
  uint64_t sweep_ticket = 0;      // ... for a sweep
  uint64_t snapshot_request = 0;  // of a snapshot request that waits for its outcome

  // For the log.
  std::string Name() const {
    return remote != nullptr ? remote->name() : "process " + std::to_string(pid);
  }
};

// Replies to be sent, in order.
struct LaneOutput {
  std::string bytes;
  struct RegionAt {
    size_t position;  // in `bytes`: the region's descriptor goes along with that byte
    bool read_only;
  };
  std::optional<RegionAt> region;
};

enum class LaneVerdict {
  kNext,   // done with the message
  kLater,  // not now: offer it again after some Background, and nothing behind it before
  kClose,  // the peer broke the rules: `why` of the result
};
struct LaneResult {
  LaneVerdict verdict = LaneVerdict::kNext;
  std::string why;   // for kClose: what was expected and what came
  std::string note;  // for the log, may be empty
};

// One message in, its reply out. Believes nothing in the message. All effects are on `core`, `peer`
// and `output`, those of chains on the region; no I/O, no clock.
LaneResult ApplyLaneMessage(ServerCore& core, LanePeer& peer, LaneKind kind,
                            std::span<const std::byte> body, LaneOutput& output);

}  // namespace dunlin
