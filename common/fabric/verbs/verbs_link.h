#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/fabric/verbs/credits.h"
#include "common/fabric/verbs/staging_ring.h"
#include "common/fabric/verbs/work_requests.h"

namespace dunlin {

// What goes over one connected queue pair: segments of work requests, each posted as one list, and
// the messages of the lane in both directions. Both sides use it. It knows nothing of how the queue
// pair came to be or ends; whoever owns that looks at broken() after each call that posts or polls.
//
// Invariants:
// 1. A SEND is only posted for a credit, so the peer always has a receive buffer for it.
// 2. A segment's staging bytes and queue entries are given back in the order of posting, once all
//    its signalled requests have completed: until then they are the adapter's.
class VerbsLink {
 public:
  struct Limits {
    uint32_t send_slots = 0;     // work requests that the send queue holds
    uint32_t segments = 128;     // that may be under way
    uint32_t max_inline = 0;     // bytes
    uint32_t receive_depth = 0;  // receive buffers of this side
    uint32_t message_bytes = 0;  // what each of them holds
    uint32_t peer_receive_depth = 0;
    uint32_t peer_message_bytes = 0;  // at least kLeastMessageBytes
    bool reads_apart = false;         // READs complete apart from other requests (iWARP)
  };
  // Registered for local writing; both outlive the link.
  struct Buffers {
    std::span<std::byte> staging;  // a power of two, at least 2 x message_bytes
    uint32_t staging_key = 0;
    std::span<std::byte> receive;  // receive_depth x message_bytes
    uint32_t receive_key = 0;
  };
  // Told of segments that Post was given an owner for.
  class Owner {
   public:
    virtual ~Owner() = default;
    // All of it was executed. `staging` is where its bytes start.
    virtual void OnSegmentDone(uint32_t tag, const Segment& segment, const std::byte* staging) = 0;
  };

  // `owner` may be null where only messages are sent. All pointers outlive the link.
  VerbsLink(ibv_qp* qp, ibv_cq* cq, const Limits& limits, const Buffers& buffers, std::string peer,
            Owner* owner);
  VerbsLink(const VerbsLink&) = delete;
  VerbsLink& operator=(const VerbsLink&) = delete;

  // Posts all receive buffers. To be called before the peer can send.
  absl::Status PostReceives();
  // What the peer said of itself when the connection was made. Before the first message.
  void SetPeer(uint32_t receive_depth, uint32_t message_bytes);

  // --- Segments. Room for one: first ask, then compose, then post.
  bool HasRoom(uint32_t pieces) const {
    return slots_used_ + pieces <= limits_.send_slots && next_ - oldest_ < posted_.size();
  }
  // The segment to compose in, empty; its staging is `staging_bytes` long. Null: no room now.
  struct Draft {
    Segment* segment;
    std::byte* staging;
  };
  Draft Begin(uint32_t staging_bytes, uint32_t pieces);
  // Appends a message to the draft that carries `bytes` of the stream. REQUIRES: room for it in the
  // draft, ForBytes() != 0, at most MostBytesInMessage().
  void AddMessage(const Draft& draft, std::span<const std::byte> bytes);
  // Posts the draft and returns how many of its pieces the adapter took: all, or the link is
  // broken. `chain`: whose atomics are in it, or null. REQUIRES: the draft of the last Begin; not
  // empty.
  uint32_t Post(const Draft& draft, uint32_t tag, const Chain* chain);

  // --- Messages.
  uint32_t MostBytesInMessage() const { return limits_.peer_message_bytes - kHeaderBytes; }
  static constexpr uint32_t StagingOfMessage(uint32_t bytes) {
    return StagingBytes(kHeaderBytes + bytes);
  }
  uint32_t ForBytes() const { return credits_.ForBytes(); }
  // Sends as much of `bytes` as there are credits and room for. Returns how much.
  size_t Send(std::span<const std::byte> bytes);
  // Posts a WRITE of nothing, which tells whether the peer's adapter still answers. One at a time.
  void Probe();
  bool probing() const { return probing_; }

  // What has been received and not consumed: of the oldest message. Empty: nothing.
  std::span<const std::byte> Received() const;
  // Bytes of Received() that are done with. At the end of a message its buffer is posted again.
  void Consume(size_t bytes);

  // Takes completions. Returns how many there were.
  uint32_t Progress();
  // All completions so far, counting from the start.
  uint64_t completions() const { return completions_; }
  uint64_t messages_received() const { return messages_received_; }

  // OK, or the first error. Nothing is posted any more after an error.
  const absl::Status& broken() const { return broken_; }
  // Whether all that is known is that requests were flushed: the reason is to be found elsewhere.
  bool only_flushed() const { return only_flushed_; }
  void Break(absl::Status why);

  const std::string& peer() const { return peer_; }

 private:
  static constexpr uint32_t kHeaderBytes = sizeof(MessageHeader);
  static constexpr uint32_t kCompletionsAtOnce = 16;

  // wr_id: the number of the segment or receive buffer, then 8 bits: which of them, and the piece.
  static constexpr uint32_t kNumberShift = 8;
  static constexpr uint64_t kIsReceive = 0x80;
  static constexpr uint64_t kPieceMask = 0x7f;
  static constexpr uint32_t kTagOfMessages = UINT32_MAX;
  static constexpr uint32_t kTagOfProbe = UINT32_MAX - 1;

  struct Posted {
    Segment segment;
    uint32_t tag = 0;
    uint32_t pending = 0;  // signalled requests under way
    uint32_t staging = 0;
    uint64_t staging_mark = 0;
  };
  struct Message {
    uint32_t buffer = 0;
    uint32_t at = 0;  // consumed so far, header included
    uint32_t end = 0;
  };

  Posted& PostedAt(uint64_t number) { return posted_[number % posted_.size()]; }
  void Take(const ibv_wc& completion);
  void TakeSent(const ibv_wc& completion);
  void TakeReceived(const ibv_wc& completion);
  void Fail(const ibv_wc& completion);
  void RetireDone();
  absl::Status PostReceive(uint32_t buffer);
  void ReleaseConsumed();
  void GrantIfDue();
  std::byte* BufferAt(uint32_t buffer) const {
    return buffers_.receive.data() + size_t{buffer} * limits_.message_bytes;
  }

  ibv_qp* const qp_;
  ibv_cq* const cq_;
  Limits limits_;
  const Buffers buffers_;
  const std::string peer_;
  Owner* const owner_;

  Credits credits_;
  StagingRing ring_;
  std::vector<Posted> posted_;  // [oldest_, next_) are under way
  uint64_t oldest_ = 0;
  uint64_t next_ = 0;
  uint32_t slots_used_ = 0;
  bool probing_ = false;

  std::vector<Message> received_;  // ring of receive_depth; [first_message_, end_message_)
  uint64_t first_message_ = 0;
  uint64_t end_message_ = 0;
  uint64_t messages_received_ = 0;
  uint64_t completions_ = 0;

  absl::Status broken_;
  bool only_flushed_ = false;

  RequestArray requests_;
  BufferArray request_buffers_;
};

}  // namespace dunlin
