#include "common/layout/bucket.h"
#include "server/patrol/relocate.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"
#include "tests/explorer/system_atomics.h"

namespace dunlin::explorer {

bool System::SessionLives(uint32_t session) const {
  if (session == kServerSession) return true;
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    if (SessionOf(c) == session && world_->clients[c].phase != Phase::kDead) return true;
  }
  return false;
}

void System::EnumerateServer(std::vector<Transition>& out) const {
  using Kind = Transition::Kind;
  for (uint8_t i = 0; i < SubtablesUsed() * kBuckets && scenario_.recovery; ++i) {
    BucketHeader header(WordAt(BucketAddress(i)));
    if (!header.held()) continue;
    if (!SessionLives(header.owner()) || Mutated(Mutation::kReleaseUnfenced)) {
      out.push_back({Kind::kRecover, 0, i});
    }
  }
  EnumerateSplitter(out);
  EnumerateSweeper(out);
  if (FreezerCanStep()) out.push_back({Kind::kFreeze});
  const RelocatorState& r = world_->relocator;
  if (r.busy) {
    out.push_back({Kind::kRelocateSwing});
  } else if (r.left != 0 && book_.Available() != kMaxBlocks) {
    ForEachSlot(*world_, geometry_, [&](uint64_t address, SlotWord word) {
      if (!word.live() || !HoldsKey(word, scenario_.relocated_key)) return;
      if (word.frozen() && !Mutated(Mutation::kRelocateFrozen)) return;
      out.push_back({Kind::kRelocateRead, 0, static_cast<uint8_t>(address / kWordBytes)});
    });
  }
}

void System::Tick() {
  ++world_->tick;
  if (world_->ticks_left != 0) --world_->ticks_left;
  Log([&] { return "clock: tick " + std::to_string(world_->tick); });
}

void System::Recover(uint32_t bucket) {
  uint64_t address = BucketAddress(bucket);
  BucketHeader held(WordAt(address));
  Log([&] { return "server: releases the lock of " + AddressName(address); });
  CompareSwap(kNobody, address, held.raw(), held.Unheld().raw());
}

void System::RelocateRead(uint64_t slot_address) {
  RelocatorState& r = world_->relocator;
  r.busy = 1;
  --r.left;
  r.slot_address = slot_address;
  r.from = SlotWord(WordAt(slot_address));
  r.to = book_.Take(kRelocator);
  if (!CopyRecord(world_->region, geometry_, r.from, r.to)) {
    return Violate("a record that a slot names is said to be implausible");
  }
  Log([&] { return "relocator: copies " + WordName(r.slot_address, r.from.raw()); });
}

void System::RelocateSwing() {
  RelocatorState& r = world_->relocator;
  Atomics atomics(*this, kRelocator);
  if (*SwingToCopy(atomics, r.slot_address, r.from, r.to)) {
    Log([&] {
      return "relocator: CAS " + AddressName(r.slot_address) + " to " +
             WordName(r.slot_address, r.to.raw());
    });
    book_.Return(kRelocator, r.from);
  } else {
    Log([&] { return "relocator: CAS of " + AddressName(r.slot_address) + " FAILS"; });
    book_.GiveBack(kRelocator, r.to);
  }
  uint8_t left = r.left;
  r = {};
  r.left = left;
}

// Steps: lock each bucket, freeze each slot, thaw each slot, unlock each bucket.
bool System::FreezerCanStep() const {
  const FreezerState& f = world_->freezer;
  if (f.left == 0) return false;
  return f.step >= kBuckets ||
         WordAt(f.step * geometry_.bucket_bytes) == BucketHeader::Free(0, 0).raw();
}

void System::FreezerStep() {
  FreezerState& f = world_->freezer;
  const uint32_t slots = kBuckets * scenario_.slots;
  const BucketHeader free = BucketHeader::Free(0, 0);
  const BucketHeader held = free.HeldBy(kServerSession, 0);
  for (bool done = false; !done;) {
    uint32_t step = f.step++;
    if (step < kBuckets) {
      done = CompareSwap(kFreezer, step * geometry_.bucket_bytes, free.raw(), held.raw()) ==
             free.raw();
      Log([&] { return "freezer: locks bucket " + std::to_string(step); });
    } else if (step < kBuckets + 2 * slots) {
      uint32_t slot = (step - kBuckets) % slots;
      uint64_t address = geometry_.SlotAddress(slot / scenario_.slots * geometry_.bucket_bytes,
                                               slot % scenario_.slots);
      SlotWord word(WordAt(address));
      if (!word.live()) continue;  // nothing to do: on to the next step
      bool freeze = step < kBuckets + slots;
      SlotWord next = freeze ? word.Frozen() : word.Thawed();
      done = CompareSwap(kFreezer, address, word.raw(), next.raw()) == word.raw();
      Log([&] {
        return (freeze ? "freezer: freezes " : "freezer: thaws ") + AddressName(address);
      });
    } else {
      uint32_t bucket = step - kBuckets - 2 * slots;
      done = true;
      if (CompareSwap(kFreezer, bucket * geometry_.bucket_bytes, held.raw(), free.raw()) !=
          held.raw()) {
        Violate("somebody changed a lock word that was not his");
      }
      Log([&] { return "freezer: unlocks bucket " + std::to_string(bucket); });
      if (bucket + 1 == kBuckets) {
        f.step = 0;
        --f.left;
      }
    }
  }
}

}  // namespace dunlin::explorer
