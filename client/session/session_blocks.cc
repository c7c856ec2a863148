#include "client/session/session_blocks.h"

#include <algorithm>

namespace dunlin {
namespace {

// A batch is at most this much memory, so that an idle session doesn't sit on a large share of it.
constexpr uint64_t kBatchBytes = 1u << 20;
constexpr Milliseconds kReturnPatience{10};
// What waits to be returned is at most that share of the heap.
constexpr uint64_t kReturnShare = 512;
// A batch should last for longer than the first and for less than the second.
constexpr int64_t kShortBatch = 50'000'000;
constexpr int64_t kLongBatch = 500'000'000;
// Blocks that one look for idle classes gives back: a few hundred us.
constexpr size_t kMostIdleReturns = 2048;

}  // namespace

uint64_t SessionBlocks::MostReturnBytes(uint64_t heap_bytes) {
  return std::min(kReturnBytes, heap_bytes / kReturnShare);
}

void SessionBlocks::Reset(Lane* lane, uint64_t heap_bytes, bool same_server) {
  lane_ = lane;
  most_return_bytes_ = MostReturnBytes(heap_bytes);
  classes_ = {};
  batches_.clear();
  resolved_batch_ = 0;
  versions_left_ = 0;
  if (same_server) {
    // What was never linked is of the old connection's batches.
    std::erase_if(returns_, [](const ReturnedBlock& r) { return r.version == 0; });
    return;
  }
  returns_.clear();
  return_bytes_ = 0;
}

// A session that puts much soon asks for much at once; one that puts little holds little.
uint32_t SessionBlocks::Want(SizeClass size_class, int64_t now) {
  if (size_class == kRunClass) return 1;
  Class& c = classes_[size_class];
  if (c.fetched_at != 0) {
    const int64_t lasted = now - c.fetched_at;
    if (lasted < kShortBatch) c.want = std::min<uint32_t>(c.want * 4, kMaxBlocksPerBatch);
    if (lasted > kLongBatch) c.want = std::max(1u, std::min(c.want, c.got) / 4);
  }
  const uint64_t most = std::max<uint64_t>(1, kBatchBytes / BlockBytes(size_class));
  return static_cast<uint32_t>(std::min<uint64_t>(c.want, most));
}

// Of two ranges the longer: it is for the larger batch, which may have most of its blocks yet.
void SessionBlocks::KeepVersions(uint64_t first, uint64_t count) {
  if (count <= versions_left_) return;
  next_version_ = first;
  versions_left_ = count;
}

Result SessionBlocks::Fetch(SizeClass size_class, uint64_t bytes, Deadline deadline,
                            bool* room_soon) {
  const int64_t now = clock_->NowNanos();
  GiveBackIdle(now);
  if (!returns_.empty() && !Flush(deadline).ok()) return Result::kUnavailable;
  uint64_t run_bytes = size_class == kRunClass ? bytes : 0;
  auto reply =
      lane_->RequestBlocks(size_class, Want(size_class, now), run_bytes, resolved_batch_, deadline);
  ++lane_messages_;
  if (!reply.ok()) return Result::kUnavailable;
  *room_soon = reply->outcome == BlocksOutcome::kRoomSoon;
  if (*room_soon || reply->outcome == BlocksOutcome::kMemoryFull) {
    GiveBackForWantOf(*room_soon, deadline);
    return Result::kMemoryFull;
  }
  if (reply->outcome != BlocksOutcome::kOk) return Result::kUnavailable;
  KeepVersions(reply->first_version, reply->version_count);
  if (reply->words.empty()) return Result::kMemoryFull;
  Class& c = classes_[size_class];
  c.fetched_at = now;
  c.got = static_cast<uint32_t>(reply->words.size());
  batches_.push_back({reply->batch, static_cast<uint32_t>(reply->words.size())});
  for (uint64_t word : reply->words) c.blocks.push_back({word, reply->batch});
  return Result::kOk;
}

SessionBlocks::Taken SessionBlocks::TakeInHand(SizeClass size_class) {
  Taken taken;
  Class& c = classes_[size_class];
  if (c.blocks.empty() || !TakeVersion(&taken.block.version)) {
    taken.result = Result::kMemoryFull;
    return taken;
  }
  c.looks = 0;
  taken.block.word = SlotWord(c.blocks.back().word);
  taken.batch = c.blocks.back().batch;
  c.blocks.pop_back();
  if (c.blocks.size() >= kAhead) taken.soon = SlotWord(c.blocks.end()[-kAhead].word);
  return taken;
}

SessionBlocks::Taken SessionBlocks::Take(uint64_t bytes, Deadline deadline) {
  const SizeClass size_class = ClassFor(bytes);
  Taken taken = TakeInHand(size_class);
  if (taken.result == Result::kOk) return taken;
  taken.result = Fetch(size_class, bytes, deadline, &taken.room_soon);
  return taken.result == Result::kOk ? TakeInHand(size_class) : taken;
}

bool SessionBlocks::TakeVersion(uint64_t* version) {
  if (versions_left_ == 0) return false;
  *version = next_version_++;
  --versions_left_;
  return true;
}

void SessionBlocks::Spent(uint64_t batch) {
  // Blocks are taken from the latest batch first.
  if (!batches_.empty() && batches_.back().number == batch) {
    if (--batches_.back().unresolved == 0) DropResolved();
    return;
  }
  auto at = std::lower_bound(batches_.begin(), batches_.end(), batch,
                             [](const Batch& b, uint64_t number) { return b.number < number; });
  if (at == batches_.end() || at->number != batch) return;
  if (--at->unresolved == 0) DropResolved();
}

void SessionBlocks::DropResolved() {
  auto first = batches_.begin();
  for (; first != batches_.end() && first->unresolved == 0; ++first) {
    resolved_batch_ = first->number;
  }
  batches_.erase(batches_.begin(), first);
}

void SessionBlocks::PutBack(const Block& block, uint64_t batch) {
  SizeClass size_class = block.word.size_class();
  if (size_class != kRunClass) {
    classes_[size_class].blocks.push_back({block.word.raw(), batch});
    return;
  }
  returns_.push_back({block.word.raw(), 0});
  return_bytes_ += BytesOf(size_class);
  Spent(batch);
}

// If the server is too slow to take them now, they go with the next.
void SessionBlocks::FlushSome() { Flush(Deadline::After(kReturnPatience, *clock_)).IgnoreError(); }

absl::Status SessionBlocks::Flush(Deadline deadline) {
  size_t sent = 0;
  absl::Status status;
  do {
    auto some = std::span(returns_).subspan(sent);
    some = some.first(std::min(some.size(), Lane::kMaxReturnedBlocks));
    // Only the last message may say that the batches are resolved: their blocks are in all of them.
    bool last = sent + some.size() == returns_.size();
    status = lane_->ReturnBlocks(some, last ? resolved_batch_ : 0, deadline);
    ++lane_messages_;
    if (!status.ok()) break;
    sent += some.size();
  } while (sent < returns_.size());
  returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(sent));
  if (returns_.empty()) return_bytes_ = 0;
  return status;
}

void SessionBlocks::GiveBack(Class& c) {
  for (const Pooled& p : c.blocks) {
    returns_.push_back({p.word, 0});
    Spent(p.batch);
  }
  c.blocks.clear();
  c.want = 1;
  c.fetched_at = 0;
}

// With them goes what holds up "all before batch k is resolved".
void SessionBlocks::LookForIdle(int64_t now) {
  looked_at_ = now;
  const size_t most = returns_.size() + kMostIdleReturns;
  for (size_t i = 0; i < classes_.size() && returns_.size() < most; ++i) {
    Class& c = classes_[next_look_];
    next_look_ = (next_look_ + 1) % classes_.size();
    if (!c.blocks.empty() && ++c.looks > 1) GiveBack(c);
  }
  if (!returns_.empty()) Flush(Deadline::After(kReturnPatience, *clock_)).IgnoreError();
}

// The server has no memory for a size. If it makes some, what is in use here is better kept: it
// would have to be asked for again.
void SessionBlocks::GiveBackForWantOf(bool room_soon, Deadline deadline) {
  for (Class& c : classes_) {
    if (!room_soon || c.looks != 0) GiveBack(c);
  }
  if (!returns_.empty()) Flush(deadline).IgnoreError();
}

absl::Status SessionBlocks::ReturnAll(Deadline deadline) {
  for (Class& c : classes_) GiveBack(c);
  return Flush(deadline);
}

}  // namespace dunlin
