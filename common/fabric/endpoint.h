#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/fabric/remote.h"

namespace dunlin {

// The server's side of a fabric whose peers come over a network. Belongs to the thread of the
// server's event loop; nothing waits, there are no hidden threads.

// What became of a Receive or Send.
struct Transfer {
  size_t bytes = 0;      // 0 without more: nothing now
  bool drained = false;  // Receive: nothing more now; what comes later turns up in Progress
  bool hung_up = false;  // the peer has ended the connection; what came before has been handed out
  std::string why;       // not empty: the connection is broken
};

// One peer's connection: the byte stream of its lane's frames. Destroying it ends the connection,
// and fences the peer: once the destructor has returned, nothing that the peer has posted or will
// post touches the region.
class EndpointPeer {
 public:
  virtual ~EndpointPeer() = default;

  // Copies what has come.
  virtual Transfer Receive(std::span<std::byte> buffer) = 0;
  // Takes what can be sent now.
  virtual Transfer Send(std::span<const std::byte> bytes) = 0;

  // For Endpoint::Ready::tag.
  virtual void SetTag(uint64_t tag) = 0;
  // For logs: "rdma 10.1.0.1:4791".
  virtual const std::string& name() const = 0;
  // What the peer's session may use; a read-only one's keys can only read.
  virtual RegionAccess Access(bool read_only) const = 0;

  // The session that the peer's takes the place of, as far as the connection's set-up tells (the
  // session's hello may, too): its id and token, zero if there is none.
  struct Replaced {
    uint32_t session = 0;
    uint64_t token = 0;
  };
  virtual Replaced replaces() const { return {}; }
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Before anything else: adds what there is to wait for to the epoll set of the server's loop,
  // which must stay as long as the endpoint. The data of its events will be `data` plus a number
  // below 2^kEventBits. Errors: ResourceExhausted, or what else the kernel says.
  static constexpr int kEventBits = 40;
  virtual absl::Status WatchIn(int epoll, uint64_t data) = 0;

  struct Ready {
    uint64_t tag = 0;
    bool receive = false;  // there is something to receive, or the peer is gone: Receive says which
    bool send = false;     // after a Send that took less: there is room again
  };
  // To be called for each event, with its number: does a bounded amount of what is due. New peers
  // are added to `accepted`; SetTag them at once.
  virtual void Progress(uint64_t number, uint32_t events,
                        std::vector<std::unique_ptr<EndpointPeer>>& accepted,
                        std::vector<Ready>& ready) = 0;

  // Looks for idle peers that are gone without a word; they turn up in Progress. To be called about
  // once a second.
  virtual void Probe() = 0;

  // No new peers from now on.
  virtual void StopAccepting() = 0;

  // For logs and status: "rdma://10.1.0.1:7471 (rxe0)".
  virtual const std::string& name() const = 0;
};

}  // namespace dunlin
