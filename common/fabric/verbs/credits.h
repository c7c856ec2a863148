#pragma once

#include <cstdint>
#include <utility>

namespace dunlin {

// The messages of a session's lane on a queue pair: a stream of bytes (frames, one behind the
// other), cut into SENDs. Each starts with this header. Little-endian.
struct MessageHeader {
  uint32_t bytes;    // of the stream that follow; 0: the message is sent for its credits
  uint32_t credits;  // receive buffers posted anew since the sender's last message
};
static_assert(sizeof(MessageHeader) == 8);

// Keeps each side from sending what the other has no receive buffer for. A side starts with as many
// credits as the other has receive buffers; a SEND costs one, and gets it back once its buffer is
// posted anew, with the next message in the other direction. If none goes there, a message without
// bytes is due after half of the buffers. The last credit is kept for that one, so that two sides
// that wait for credits can always give some:
//
// - Who has none left has just given all that it owed, with that last message.
// - Who has one left and waits for more has sent at least half of the other's buffers full (depth
//   is at least kLeastDepth), so the other is going to give.
class Credits {
 public:
  static constexpr uint32_t kLeastDepth = 4;

  // REQUIRES: both at least kLeastDepth.
  Credits(uint32_t own_depth, uint32_t peer_depth)
      : own_depth_(own_depth), peer_depth_(peer_depth), available_(peer_depth) {}

  // How many messages with bytes in them may be sent.
  uint32_t ForBytes() const { return available_ == 0 ? 0 : available_ - 1; }
  // A message without bytes should be sent, and may.
  bool GrantDue() const { return owed_ >= own_depth_ / 2 && available_ != 0; }

  // For a message that is being sent: what its header grants. REQUIRES: it may be sent.
  uint32_t Spend() {
    --available_;
    return std::exchange(owed_, 0);
  }
  // A receive buffer was posted anew.
  void Reposted() { ++owed_; }
  // False: more than was ever spent; the peer is confused.
  bool Granted(uint32_t credits) {
    if (credits > peer_depth_ - available_) return false;
    available_ += credits;
    return true;
  }

 private:
  uint32_t own_depth_;
  uint32_t peer_depth_;
  uint32_t available_;
  uint32_t owed_ = 0;
};

}  // namespace dunlin
