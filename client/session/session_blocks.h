#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "client/lane/lane.h"
#include "common/base/clock.h"
#include "common/layout/lane.h"
#include "common/layout/size_class.h"
#include "common/protocol/machine.h"
#include "dunlin/types.h"

namespace dunlin {

// The heap blocks that a session has in hand, by size class, and those that it has unlinked and is
// about to give back. Fetches and returns them over the lane in batches: one message for hundreds
// of puts. What it holds is little for a small heap, for sizes that are seldom written and when the
// server has no memory left. Belongs to one session.
class SessionBlocks {
 public:
  // Both pointers are borrowed. `heap_bytes`: of the server.
  SessionBlocks(Lane* lane, uint64_t heap_bytes, const Clock* clock = &SystemClock::Shared())
      : lane_(lane), clock_(clock), most_return_bytes_(MostReturnBytes(heap_bytes)) {}

  // The session has a new connection: the blocks and batches in hand were the old one's, and the
  // server takes care of them. What was unlinked is still to be returned if `same_server`.
  void Reset(Lane* lane, uint64_t heap_bytes, bool same_server);

  struct Taken {
    Result result = Result::kOk;  // else kMemoryFull or kUnavailable
    bool room_soon = false;       // with kMemoryFull: the server is making room
    Block block;
    uint64_t batch = 0;
    SlotWord soon;  // what the kAhead-th call from now takes for this class, if that is in hand
  };
  // More than one: a put takes less time than the lines of a block.
  static constexpr size_t kAhead = 3;
  // A block if one is in hand, else kMemoryFull at once.
  Taken TakeInHand(SizeClass size_class);
  // A block for a record of `bytes` bytes. Costs a lane round trip when the class has run out.
  Taken Take(uint64_t bytes, Deadline deadline);

  // The block was linked to the index, or nobody can tell.
  void Spent(uint64_t batch);
  // The block was not linked: good for another record.
  void PutBack(const Block& block, uint64_t batch);
  // An operation unlinked this block.
  void Unlinked(const Freed& freed) {
    Unlinking(freed);
    DidUnlink();
  }
  // The same in two steps, the first before it is tried: what can be done while a CAS waits for its
  // line is done then. One of the other two follows, with nothing of this object in between.
  void Unlinking(const Freed& freed) {
    returns_.push_back({freed.word.Thawed().raw(), freed.version});
    return_bytes_ += BytesOf(freed.word.size_class());
  }
  void DidUnlink() {
    if (returns_.size() >= kReturnsPerMessage || return_bytes_ >= most_return_bytes_) FlushSome();
  }
  void DidNotUnlink() {
    return_bytes_ -= BytesOf(SlotWord(returns_.back().word).size_class());
    returns_.pop_back();
  }

  // To be called now and then, with the clock's time: gives back the blocks of sizes that have not
  // been written for a while, and what waits to be returned with them. Waits for nothing but a
  // server that is slow to take returns, and for that 10 ms at most.
  void GiveBackIdle(int64_t now) {
    if (now - looked_at_ >= kIdlePeriod) LookForIdle(now);
  }

  // Sends what is waiting to be returned. After an error it still waits, unless the lane is broken.
  absl::Status Flush(Deadline deadline);
  // Gives everything back: before the session ends.
  absl::Status ReturnAll(Deadline deadline);

  uint64_t lane_messages() const { return lane_messages_; }

 private:
  struct Pooled {
    uint64_t word;
    uint64_t batch;
  };
  struct Class {
    std::vector<Pooled> blocks;
    uint32_t want = 4;
    uint32_t got = 0;        // in the last batch
    uint32_t looks = 0;      // of LookForIdle, since one was last taken
    int64_t fetched_at = 0;  // the last batch; 0: none was
  };
  // As many as a full batch of small blocks has: the next batch is then asked for when the server
  // is awake anyway.
  static constexpr uint32_t kReturnsPerMessage = kMaxBlocksPerBatch;
  // What waits to be returned is at most so much, and at most a share of the heap.
  static constexpr uint64_t kReturnBytes = 4u << 20;
  // Of this and twice this, a size that is not written gives its blocks back.
  static constexpr int64_t kIdlePeriod = 200'000'000;
  struct Batch {
    uint64_t number;
    uint32_t unresolved;
  };

  Result Fetch(SizeClass size_class, uint64_t bytes, Deadline deadline, bool* room_soon);
  static uint64_t MostReturnBytes(uint64_t heap_bytes);
  static uint64_t BytesOf(SizeClass size_class) {
    // Of a run only the server knows the length; it is over 32 KiB, so few are held back.
    return size_class == kRunClass ? kReturnBytes / 8 : BlockBytes(size_class);
  }
  void FlushSome();
  uint32_t Want(SizeClass size_class, int64_t now);
  void KeepVersions(uint64_t first, uint64_t count);
  void GiveBack(Class& c);
  void LookForIdle(int64_t now);
  void GiveBackForWantOf(bool room_soon, Deadline deadline);
  void DropResolved();
  bool TakeVersion(uint64_t* version);

  Lane* lane_;
  const Clock* const clock_;
  std::array<Class, kRunClass + 1> classes_;
  std::vector<Batch> batches_;  // by number; the first is unresolved
  uint64_t resolved_batch_ = 0;
  uint64_t next_version_ = 0;
  uint64_t versions_left_ = 0;
  std::vector<ReturnedBlock> returns_;
  uint64_t return_bytes_ = 0;
  uint64_t most_return_bytes_;  // that wait here
  int64_t looked_at_ = 0;
  uint32_t next_look_ = 0;  // class
  uint64_t lane_messages_ = 0;
};

}  // namespace dunlin
