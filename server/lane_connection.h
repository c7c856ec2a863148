#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/unique_fd.h"
#include "common/fabric/endpoint.h"
#include "server/core.h"
#include "server/lane_parser.h"
#include "server/lane_service.h"

namespace dunlin {

// One client's lane: a non-blocking Unix socket, or the connection of a remote peer, with bounded
// buffers on both sides. Not thread safe.
class LaneConnection {
 public:
  struct Descriptors {
    int region;
    int region_read_only;
  };
  // Takes the socket. `process` becomes readable when the peer's process has gone; invalid if we
  // can't know.
  LaneConnection(UniqueFd socket, UniqueFd process, uint32_t pid, Descriptors descriptors);

  // Of a remote peer, which is fenced when this is destroyed.
  explicit LaneConnection(std::unique_ptr<EndpointPeer> remote);

  enum class Progress {
    kOpen,
    kHungUp,  // the peer closed its side
    kBroken,  // by the peer's messages or by an error: why()
  };

  // Reads what has come, at most a bounded amount, and applies it. The replies wait for Write.
  Progress Read(ServerCore& core);
  // Applies what was read but had to wait (LaneVerdict::kLater, or replies that weren't taken: call
  // it after each Write).
  Progress Resume(ServerCore& core);
  // Sends as much as the socket takes.
  Progress Write();

  // What to wait for.
  bool WantsRead() const { return !waiting_ && pending() < kMostPending; }
  bool WantsWrite() const { return pending() > 0 || backlog_; }
  bool waiting() const { return waiting_; }

  int fd() const { return socket_.get(); }  // -1: a remote peer
  bool remote() const { return remote_ != nullptr; }
  // Whether a remote peer may have sent more than the last Read took.
  bool more_to_read() const { return more_to_read_; }
  int process_fd() const { return process_.get(); }
  UniqueFd ReleaseProcess() { return std::move(process_); }
  const LanePeer& peer() const { return peer_; }
  const std::string& why() const { return why_; }
  // A remark of the last Read or Resume for the log; cleared by the call.
  std::string TakeNote() { return std::exchange(note_, ""); }

  // Since when replies have been waiting without the peer taking a byte; 0 if none wait.
  uint64_t stalled_since() const { return stalled_since_; }
  void NoteStall(uint64_t tick);

 private:
  // A peer that reads no replies gets no more of them than this, plus one frame.
  static constexpr size_t kMostPending = 256 * 1024;
  static constexpr size_t kReadBytes = 64 * 1024;

  size_t pending() const { return output_.bytes.size() - sent_; }
  Progress Break(std::string why);
  Progress Apply(ServerCore& core);
  void PrefetchAhead(const ServerCore& core);
  Progress ReadRemote(ServerCore& core);
  Progress WriteRemote();
  void AllSent();

  const std::unique_ptr<EndpointPeer> remote_;
  UniqueFd socket_;
  UniqueFd process_;
  Descriptors descriptors_;
  LanePeer peer_;
  LaneParser parser_;
  LaneOutput output_;
  size_t sent_ = 0;
  bool waiting_ = false;
  bool backlog_ = false;  // messages were left unread because of too many unsent replies
  bool hung_up_ = false;
  bool more_to_read_ = false;
  uint64_t stalled_since_ = 0;
  uint64_t sent_total_ = 0;
  uint64_t stalled_at_total_ = 0;
  std::string why_;
  std::string note_;
};

}  // namespace dunlin
