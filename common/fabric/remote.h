#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/frame_port.h"

namespace dunlin {

// The client's side of a fabric whose sessions come over a network.

// The one agent that executes every atomic on a region's words.
enum class AtomicDomain : uint32_t {
  kCpu = 0,  // the server's processor
  kNic = 1,  // one network adapter
};

// A part of the region as a network adapter knows it.
struct MemoryKey {
  uint64_t offset = 0;   // in the region
  uint64_t bytes = 0;    // whole pages
  uint64_t address = 0;  // of its first byte, for the adapter
  uint32_t key = 0;      // rkey
};

// What a session may touch, as the server's welcome states it.
struct RegionAccess {
  uint64_t region_bytes = 0;
  bool read_only = false;
  // kNic: atomics are posted to the adapter. kCpu: where the fabric can read and write by itself,
  // a chain's part from its first atomic on goes as a kChainRequest in the same round trip.
  AtomicDomain domain = AtomicDomain::kCpu;
  // Where the server executes whole chains: it grants Chain::follow.
  bool follows = false;
  // In the order of their offsets, without gaps, covering the region; empty where the server
  // executes whole chains (tcp).
  std::vector<MemoryKey> keys;
};

// A connection of one session (or of one who only asks for the server's state) to its server.
// Lane and chains share it. Not thread safe. Destroying it ends it at once: what is under way is
// lost, as with any broken connection.
class RemoteConnection : public FramePort {
 public:
  // The channel of this connection, at most one. It refers to the connection, which must outlive
  // it; a broken channel and a broken port are the same. REQUIRES: access.keys as described.
  virtual std::unique_ptr<Channel> OpenChannel(RegionAccess access) = 0;
};

}  // namespace dunlin
