#include "client/session/session_blocks.h"

#include <algorithm>

namespace dunlin {
namespace {

// A batch is at most this much memory, so that an idle session doesn't sit on a large share of it.
constexpr uint64_t kBatchBytes = 1u << 20;
constexpr uint32_t kReturnsPerMessage = 256;
constexpr Milliseconds kReturnPatience{10};
constexpr uint64_t kReturnBytes = 4u << 20;

uint64_t BytesOf(SizeClass size_class) {
  // Of a run only the server knows the length; it is over 32 KiB, so few are held back.
  return size_class == kRunClass ? kReturnBytes / 8 : BlockBytes(size_class);
}

}  // namespace

void SessionBlocks::Reset(Lane* lane, bool same_server) {
  lane_ = lane;
  classes_ = {};
  batches_.clear();
  resolved_batch_ = 0;
  versions_left_ = 0;
  if (same_server) return;
  returns_.clear();
  return_bytes_ = 0;
}

uint32_t SessionBlocks::Want(SizeClass size_class) const {
  if (size_class == kRunClass) return 1;
  uint64_t most = std::max<uint64_t>(1, kBatchBytes / BlockBytes(size_class));
  return static_cast<uint32_t>(
      std::min<uint64_t>({classes_[size_class].want, most, kMaxBlocksPerBatch}));
}

Result SessionBlocks::Fetch(SizeClass size_class, uint64_t bytes, Deadline deadline,
                            bool* room_soon) {
  if (!returns_.empty() && !Flush(deadline).ok()) return Result::kUnavailable;
  uint64_t run_bytes = size_class == kRunClass ? bytes : 0;
  auto reply =
      lane_->RequestBlocks(size_class, Want(size_class), run_bytes, resolved_batch_, deadline);
  ++lane_messages_;
  if (!reply.ok()) return Result::kUnavailable;
  *room_soon = reply->outcome == BlocksOutcome::kRoomSoon;
  if (*room_soon || reply->outcome == BlocksOutcome::kMemoryFull) return Result::kMemoryFull;
  if (reply->outcome != BlocksOutcome::kOk) return Result::kUnavailable;
  if (reply->version_count != 0) {
    next_version_ = reply->first_version;
    versions_left_ = reply->version_count;
  }
  if (reply->words.empty()) return Result::kMemoryFull;
  Class& c = classes_[size_class];
  // A session that puts much soon asks for much at once; one that puts little holds little.
  c.want = std::min<uint32_t>(c.want * 4, kMaxBlocksPerBatch);
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
  taken.block.word = SlotWord(c.blocks.back().word);
  taken.batch = c.blocks.back().batch;
  c.blocks.pop_back();
  if (!c.blocks.empty()) taken.next = SlotWord(c.blocks.back().word);
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

void SessionBlocks::Unlinked(const Freed& freed) {
  returns_.push_back({freed.word.Thawed().raw(), freed.version});
  return_bytes_ += BytesOf(freed.word.size_class());
  if (returns_.size() < kReturnsPerMessage && return_bytes_ < kReturnBytes) return;
  // If the server is too slow to take them now, they go with the next.
  Flush(Deadline::After(kReturnPatience, *clock_)).IgnoreError();
}

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

absl::Status SessionBlocks::ReturnAll(Deadline deadline) {
  for (Class& c : classes_) {
    for (const Pooled& p : c.blocks) {
      returns_.push_back({p.word, 0});
      Spent(p.batch);
    }
    c.blocks.clear();
  }
  return Flush(deadline);
}

}  // namespace dunlin
