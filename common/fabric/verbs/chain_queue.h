#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/chain.h"
#include "common/fabric/remote.h"
#include "common/fabric/verbs/key_table.h"
#include "common/fabric/verbs/out_stream.h"
#include "common/fabric/verbs/verbs_link.h"

namespace dunlin {

// The chains of one session on its link: cuts them into segments, posts these in order, and puts
// the results together.
//
// A chain is posted as one list where its bytes fit the share of a segment in the staging buffer
// and its work requests fit a list, as all but those of large values do. Where the server executes
// atomics, what follows a chain's first atomic (the tail) is a message in the same list; a tail too
// long for one message follows in several. If credits or room are missing the chain waits, and
// those after it.
//
// No fences: fabric.h lets a READ be sampled after a later WRITE or atomic of its chain. What it
// asks for is what a queue pair gives anyway: WRITE before atomic, WRITE before SEND, atomic before
// READ, WRITE before READ.
class ChainQueue final : public VerbsLink::Owner {
 public:
  struct Limits {
    uint32_t depth = 0;
    uint32_t segment_bytes = 0;      // of staging; a multiple of 8, a fraction of the link's
    uint32_t max_message_bytes = 0;  // of the device
    bool reads_apart = false;        // iWARP, where also a WRITE completes before it has arrived
  };
  // Both outlive the queue. REQUIRES: KeyTable takes access.keys.
  ChainQueue(VerbsLink* link, OutStream* stream, RegionAccess access, const Limits& limits);

  // REQUIRES: as Channel::Post.
  void Post(Chain* chain);
  // Posts what waited for room or credits.
  void PostWaiting();
  // Hands back what is finished; doesn't look at the link.
  uint32_t TakeFinished(Chain** finished, uint32_t max);
  bool any_finished() const { return finished_taken_ != finished_.size(); }
  uint32_t depth() const { return limits_.depth; }
  // Whether no chain is under way or waits.
  bool idle() const { return free_.size() == limits_.depth; }

  // A reply has come. Not empty: it is not one to the chain whose turn it is.
  std::string OnReply(std::span<const std::byte> body);

  // The queue pair is gone: all that is not finished comes back, kUnknown if the adapter took any
  // of it, else kNotExecuted.
  void FailAll();

  void OnSegmentDone(uint32_t tag, const Segment& segment, const std::byte* staging) override;

 private:
  struct State {
    Chain* chain = nullptr;  // null: free
    uint64_t number = 0;     // in the order of posting
    ChainCursor cursor;      // behind what has been posted of the one-sided part
    uint32_t end = 0;        // of that part; what follows is the tail
    uint32_t segments = 0;   // under way
    bool all_posted = false;
    bool replied = false;  // or needs no reply
    bool taken = false;    // the adapter has some of it
    bool has_tail() const { return end != chain->count; }
  };

  bool Allowed(const Chain& chain, uint32_t end) const;
  void ComposeTail(const State& state);
  bool TailFitsMessage() const { return tail_.size() <= link_->MostBytesInMessage(); }
  bool PostAll(uint32_t tag);
  bool PostSegment(uint32_t tag);
  void FinishIfDone(State& state, uint32_t tag);
  void Finish(State& state, uint32_t tag, ChainOutcome outcome);

  VerbsLink* const link_;
  OutStream* const stream_;
  const uint64_t region_bytes_;
  const bool read_only_;
  const bool posts_atomics_;
  const KeyTable keys_;
  const Limits limits_;

  std::vector<State> states_;
  std::vector<uint32_t> free_;
  std::deque<uint32_t> waiting_;  // not wholly posted, in order
  std::deque<uint32_t> replies_;  // of whom replies are to come, in order
  std::vector<Chain*> finished_;  // taken up to finished_taken_
  size_t finished_taken_ = 0;
  uint64_t next_number_ = 0;

  std::vector<std::byte> tail_;  // frames, of the chain at the front of waiting_
  bool tail_composed_ = false;
  std::vector<std::byte> compose_buffer_;
};

}  // namespace dunlin
