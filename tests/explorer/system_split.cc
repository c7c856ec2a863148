#include <algorithm>

#include "common/base/check.h"
#include "server/growth/split.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"
#include "tests/explorer/system_atomics.h"

namespace dunlin::explorer {
namespace {

// The first split makes two of the whole; the second splits the first half, into the memory that
// the first split retired and some that was never used.
struct SplitPlan {
  uint32_t old;
  uint32_t depth;
  uint32_t child[2];
  bool first_is_retired;
};
constexpr SplitPlan kSplitPlans[] = {{0, 0, {1, 2}, false}, {1, 1, {0, 3}, true}};

}  // namespace

uint64_t System::BucketAddress(uint32_t number) const {
  return SubtableAddress(number / kBuckets) + uint64_t{number % kBuckets} * geometry_.bucket_bytes;
}

bool System::CanBeginSplit() const {
  const SplitterState& s = world_->splitter;
  if (s.left == 0 || s.active) return false;
  return !kSplitPlans[s.retirements].first_is_retired ||
         world_->tick >= s.retired_at + scenario_.grace;
}

// A header is looked at for its lock by those whose key's first bucket it is, and by all for who
// lives there, which is settled when the subtable is retired.
bool System::IsSeen(uint64_t address) const {
  const BucketHeader header(WordAt(address));
  if (PlaceInBucket(geometry_, address) != 0 || !header.formatted()) return true;
  const uint64_t bucket = address % kSubtableStride / geometry_.bucket_bytes;
  return std::any_of(scenario_.keys.begin(), scenario_.keys.end(), [&](const KeyPlan& key) {
    return key.touched && BucketsOf(geometry_, key.hash).first == bucket &&
           PrefixOf(key.hash, header.depth()) == header.prefix();
  });
}

void System::EnumerateSplitter(std::vector<Transition>& out) const {
  using Kind = Transition::Kind;
  const SplitterState& s = world_->splitter;
  if (CanBeginSplit()) out.push_back({Kind::kSplit});
  if (!s.active) return;
  // It looks at the lock again only when it can have it: nothing else would change.
  if (!s.waiting || !BucketHeader(WordAt(s.machine.lock_address())).held()) {
    out.push_back({Kind::kSplit});
  }
  Split trial = s.machine;
  if (s.cancels_left != 0 && !s.publishes && trial.Cancel()) out.push_back({Kind::kCancelSplit});
}

void System::BeginSplit() {
  SplitterState& s = world_->splitter;
  const SplitPlan& plan = kSplitPlans[s.retirements];
  s.machine = Split(SubtableAddress(plan.old), 0, plan.depth,
                    {SubtableAddress(plan.child[0]), plan.first_is_retired},
                    {SubtableAddress(plan.child[1]), false}, kServerSession);
  s.active = 1;
  --s.left;
  // A walk in the midst of the subtable takes it anew when it is split.
  if (SweeperIsIn(s.machine.old_address()) && !Mutated(Mutation::kSweepDuringSplit)) {
    world_->sweeper.slot = 0;
  }
}

// Up to the next change that others can see.
void System::SplitStep() {
  SplitterState& s = world_->splitter;
  if (!s.active) BeginSplit();
  if (s.publishes) return Publish();
  Atomics atomics(*this, kSplitter);
  SplitEnv env{world_->region, &geometry_, &atomics};
  s.waiting = 0;
  Split::Progress progress = Split::Progress::kMore;
  for (uint32_t steps = 0; progress == Split::Progress::kMore && !atomics.swapped(); ++steps) {
    DUNLIN_CHECK(steps < 1000, "a split steps on and on");
    progress = s.machine.Step(env, 1);
  }
  switch (progress) {
    case Split::Progress::kMore:
      break;
    case Split::Progress::kWait:
      s.waiting = 1;
      break;
    case Split::Progress::kPublish:
      s.publishes = 1;
      if (!atomics.swapped()) Publish();
      break;
    case Split::Progress::kDone:
      s.active = 0;
      s.retired_at = world_->tick;
      ++s.retirements;
      break;
    case Split::Progress::kCancelled:
      s.active = 0;
      ++s.left;
      break;
    case Split::Progress::kFault:
      return Violate("a split finds a fault");
  }
  // A broken rule is to be noticed by what clients see.
  if (s.machine.fault() != SplitFault::kNone && active_mutation == Mutation::kNone) {
    Violate("a split notes a fault");
  }
}

void System::CancelSplit() {
  SplitterState& s = world_->splitter;
  --s.cancels_left;
  s.waiting = 0;
  s.machine.Cancel();
  Log([&] { return std::string("splitter: gives up"); });
}

void System::Publish() {
  SplitterState& s = world_->splitter;
  s.publishes = 0;
  const Directory& now = world_->directory;
  Directory next;
  next.depth = s.machine.depth() + 1;
  next.epoch = now.epoch + 1;
  // The subtable that is split is always the directory's first.
  for (uint32_t i = 0; i < 1u << next.depth; ++i) {
    next.entries[i] = i < 2 ? DirectoryEntry::Make(s.machine.child(i).address, next.depth).raw()
                            : now.entries[i >> (next.depth - now.depth)];
  }
  world_->directory = next;
  Log([&] { return "splitter: publishes the directory, epoch " + std::to_string(next.epoch); });
  NoteChange(kSplitter);
}

}  // namespace dunlin::explorer
