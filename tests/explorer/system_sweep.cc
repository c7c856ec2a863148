#include <algorithm>

#include "tests/explorer/index_view.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
namespace {

constexpr uint8_t kWholeSpace = 1u << kMaxDepth;

}  // namespace

bool System::Running() const {
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    const Phase phase = world_->clients[c].phase;
    if (phase != Phase::kFinished && phase != Phase::kDead) return true;
  }
  return false;
}

bool System::SweeperIsIn(uint64_t subtable) const {
  const SweeperState& s = world_->sweeper;
  const bool walks = s.phase == SweeperState::kFirstWalk || s.phase == SweeperState::kSecondWalk;
  return walks && s.slot != 0 && s.subtable == subtable;
}

void System::EnumerateSweeper(std::vector<Transition>& out) const {
  const SweeperState& s = world_->sweeper;
  bool can = true;
  switch (s.phase) {
    case SweeperState::kRest:
      can = s.left != 0 || (scenario_.sweeps != 0 && book_.AnyLost() && !Running());
      break;
    case SweeperState::kBetween:
      can = world_->tick >= s.ended_at + scenario_.grace;
      break;
    case SweeperState::kFirstWalk:
    case SweeperState::kSecondWalk: {
      // A subtable that is split is not entered.
      const Directory& d = world_->directory;
      const DirectoryEntry next(d.entries[s.position >> (kMaxDepth - d.depth)]);
      const SplitterState& split = world_->splitter;
      can = s.slot != 0 || !split.active || split.machine.old_address() != next.region_offset() ||
            Mutated(Mutation::kSweepDuringSplit);
      break;
    }
    default:
      break;
  }
  if (can) out.push_back({Transition::Kind::kSweep});
}

void System::SweepStep() {
  SweeperState& s = world_->sweeper;
  switch (s.phase) {
    case SweeperState::kRest:
      return BeginSweep();
    case SweeperState::kBetween:
      s.phase = SweeperState::kSecondWalk;
      return WalkOn();
    case SweeperState::kFirstWalk:
    case SweeperState::kSecondWalk:
      return WalkOn();
    default:
      return EndSweep();
  }
}

void System::BeginSweep() {
  SweeperState& s = world_->sweeper;
  const uint8_t left = s.left;
  s = {};
  s.left = left != 0 ? left - 1 : 0;
  s.phase = SweeperState::kFirstWalk;
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    if (!book_.Suspicious(i)) continue;
    s.suspects |= 1u << i;
    s.generation[i] = world_->blocks[i].generation;
  }
  Log([&] { return std::string("sweeper: begins"); });
}

// Looks at one slot.
void System::WalkOn() {
  SweeperState& s = world_->sweeper;
  if (s.slot == 0) {
    const Directory& d = world_->directory;
    const DirectoryEntry entry(d.entries[s.position >> (kMaxDepth - d.depth)]);
    s.subtable = entry.region_offset();
    s.width = static_cast<uint8_t>(1u << (kMaxDepth - entry.depth()));
  }
  const uint64_t address = geometry_.SlotAddress(
      s.subtable + uint64_t{s.slot / scenario_.slots} * geometry_.bucket_bytes,
      s.slot % scenario_.slots);
  const SlotWord word(WordAt(address));
  Log([&] {
    return "sweeper: sees " + AddressName(address) + " = " + WordName(address, word.raw());
  });
  for (uint32_t i = 0; word.live() && i < scenario_.blocks; ++i) {
    const bool named = book_.IndexOf(word) == i &&
                       word.generation() == (s.generation[i] & SlotWord::kGenerationMask);
    if (named) s.acquitted |= 1u << i;
  }
  if (++s.slot < kBuckets * scenario_.slots) return;
  s.slot = 0;
  s.position += s.width;
  if (s.position < kWholeSpace) return;
  s.position = 0;
  const bool first = s.phase == SweeperState::kFirstWalk && !Mutated(Mutation::kSweepOnce);
  s.phase = first ? SweeperState::kBetween : SweeperState::kFree;
  s.ended_at = world_->tick;
}

void System::EndSweep() {
  SweeperState& s = world_->sweeper;
  const uint32_t guilty = s.suspects & ~uint32_t{s.acquitted};
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    if ((guilty >> i & 1) == 0) continue;
    Log([&] { return "sweeper: frees block " + std::to_string(i); });
    book_.Sweep(i, s.generation[i]);
  }
  const uint8_t left = s.left;
  s = {};
  s.left = left;
}

}  // namespace dunlin::explorer
