#include "server/growth/grower.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// A lock is held for a round trip. Who waits longer gives the locks back that it has.
constexpr uint64_t kLockPatience = 4;
constexpr uint64_t kPauseAfterCancel = 20;
constexpr uint64_t kPauseWithoutRoom = 100;
constexpr size_t kMostAsked = 1024;

}  // namespace

double Grower::LoadOf(const IndexSpace::Subtable& subtable) const {
  const uint32_t buckets = region_.geometry().bucket_mask + 1;
  uint64_t live = 0;
  for (uint32_t b = 0; b < buckets; ++b) {
    const std::byte* slots = region_.At(subtable.address + uint64_t{b} * kBucketBytes) + kWordBytes;
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      live += SlotWord(LoadWordRelaxed(slots + s * kWordBytes)).live();
    }
  }
  return static_cast<double>(live) / (double{kSlotsPerBucket} * buckets);
}

bool Grower::HasRoom(uint64_t tick) {
  std::optional<IndexSpace::Place> one = parts_.index->Take(*parts_.allocator, tick);
  std::optional<IndexSpace::Place> two;
  if (one) two = parts_.index->Take(*parts_.allocator, tick);
  if (two) parts_.index->GiveBack(*two);
  if (one) parts_.index->GiveBack(*one);
  lacks_room_ |= !two;
  return two.has_value();
}

GrowOutcome Grower::Ask(uint32_t position, uint32_t depth, uint64_t tick) {
  const IndexSpace::Subtable subtable = parts_.index->At(position);
  if (subtable.depth > depth || (split_ && here_ == subtable)) return GrowOutcome::kGrows;
  for (uint32_t asked : asked_) {
    if (parts_.index->At(asked) == subtable) return GrowOutcome::kGrows;
  }
  if (!parts_.index->CanSplit(subtable.depth) || asked_.size() >= kMostAsked ||
      faulty_.contains(subtable.address) || LoadOf(subtable) < kLeastLoad || !HasRoom(tick)) {
    return GrowOutcome::kFull;
  }
  asked_.push_back(position);
  return GrowOutcome::kGrows;
}

std::optional<IndexSpace::Subtable> Grower::NextByLoad(uint64_t records) {
  const IndexSpace& index = *parts_.index;
  uint32_t depth = index.ShallowestDepth();
  while (depth < kMaxDirectoryDepth && index.CountAt(depth) == faulty_at_[depth]) ++depth;
  const double whole = static_cast<double>(uint64_t{1} << depth);
  const double slots = whole * (region_.geometry().bucket_mask + 1.0) * kSlotsPerBucket;
  const double load = static_cast<double>(records) / slots;
  const double due = std::min(1.0, (load - kBeginLoad) / (kEndLoad - kBeginLoad));
  const uint64_t left = index.CountAt(depth) - faulty_at_[depth];
  if (left == 0 || due <= 1.0 - static_cast<double>(left) / whole) return std::nullopt;
  // Round and round, so that none is left behind.
  for (uint64_t looked = 0; looked < index.subtables(); ++looked) {
    const IndexSpace::Subtable at = index.At(next_position_);
    next_position_ = IndexSpace::Next(at) % IndexSpace::kPositions;
    if (at.depth == depth && !faulty_.contains(at.address)) return at;
  }
  return std::nullopt;
}

std::optional<IndexSpace::Subtable> Grower::Next(uint64_t records, uint64_t tick) {
  if (split_ || tick < not_before_) return std::nullopt;
  std::optional<IndexSpace::Subtable> next;
  if (!asked_.empty()) {
    next = parts_.index->At(asked_.front());
    asked_.pop_front();
  } else {
    next = NextByLoad(records);
  }
  if (!next || !parts_.index->CanSplit(next->depth)) return std::nullopt;
  if (!HasRoom(tick)) {
    not_before_ = tick + kPauseWithoutRoom;
    return std::nullopt;
  }
  return next;
}

bool Grower::MayStart(const IndexSpace::Subtable& subtable, uint64_t tick) {
  return !split_ && parts_.index->CanSplit(subtable.depth) && !faulty_.contains(subtable.address) &&
         HasRoom(tick);
}

void Grower::Start(const IndexSpace::Subtable& subtable, uint64_t tick) {
  here_ = subtable;
  Split::Fresh fresh[2];
  for (int i = 0; i < 2; ++i) {
    std::optional<IndexSpace::Place> place = parts_.index->Take(*parts_.allocator, tick);
    DUNLIN_CHECK(place.has_value());
    children_[i] = *place;
    fresh[i] = {place->address, place->used};
    // It may have held records before.
    if (!place->used) {
      std::memset(region_.At(place->address), 0, parts_.index->subtable_bytes());
    }
  }
  split_.emplace(subtable.address, subtable.prefix, subtable.depth, fresh[0], fresh[1],
                 server_session_);
  waits_ = false;
  began_ = tick;
}

std::optional<uint64_t> Grower::awaited_lock() const {
  if (!split_ || !waits_) return std::nullopt;
  return split_->lock_address();
}

bool Grower::Step(uint64_t tick) {
  if (!split_) return false;
  SplitEnv env;
  env.base = region_.At(0);
  env.geometry = &region_.geometry();
  env.atomics = parts_.atomics;
  const Split::Progress progress = split_->Step(env, words_per_step_);
  fault_.Update(env.error);
  return OnProgress(progress, tick);
}

bool Grower::OnProgress(Split::Progress progress, uint64_t tick) {
  if (progress != Split::Progress::kWait) waits_ = false;
  switch (progress) {
    case Split::Progress::kMore:
      return true;
    case Split::Progress::kWait:
      return OnWait(tick);
    case Split::Progress::kPublish: {
      const uint64_t children[2] = {children_[0].address, children_[1].address};
      parts_.index->Publish(here_, children);
      return true;
    }
    case Split::Progress::kDone:
      ++figures_.splits;
      parts_.index->Retire(here_.address, tick);
      End(tick);
      return true;
    case Split::Progress::kCancelled:
      ++figures_.cancelled;
      not_before_ = tick + kPauseAfterCancel;
      GiveBackChildren();
      End(tick);
      return false;
    case Split::Progress::kFault:
      ++figures_.faults;
      figures_.last_fault = "a subtable can't be split: " + std::string(NameOf(split_->fault())) +
                            " at " + std::to_string(split_->fault_address());
      faulty_.insert(here_.address);
      ++faulty_at_[here_.depth];
      GiveBackChildren();
      End(tick);
      return false;
  }
  return false;
}

// The locks that were taken hold up inserts. Their holders go on if this one does not come soon.
bool Grower::OnWait(uint64_t tick) {
  if (!waits_) {
    waits_ = true;
    wait_began_ = tick;
  }
  if (tick - wait_began_ < kLockPatience) return true;
  split_->Cancel();
  return true;
}

void Grower::GiveBackChildren() {
  for (const IndexSpace::Place& child : children_) parts_.index->GiveBack(child);
}

void Grower::End(uint64_t tick) {
  figures_.longest_ticks = std::max(figures_.longest_ticks, tick - began_);
  split_.reset();
}

}  // namespace dunlin
