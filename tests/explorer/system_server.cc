#include <cstring>

#include "common/layout/bucket.h"
#include "common/layout/checksum.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"

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
  for (uint8_t b = 0; b < kBuckets && scenario_.recovery; ++b) {
    BucketHeader header(WordAt(b * geometry_.bucket_bytes));
    if (!header.held()) continue;
    if (!SessionLives(header.owner()) || Mutated(Mutation::kReleaseUnfenced)) {
      out.push_back({Kind::kRecover, 0, b});
    }
  }
  if (FreezerCanStep()) out.push_back({Kind::kFreeze});
  const RelocatorState& r = world_->relocator;
  if (r.busy) {
    out.push_back({Kind::kRelocateSwing});
  } else if (r.left != 0 && book_.Available() != kMaxBlocks) {
    for (uint8_t b = 0; b < kBuckets; ++b) {
      for (uint8_t s = 0; s < scenario_.slots; ++s) {
        SlotWord word(WordAt(geometry_.SlotAddress(b * geometry_.bucket_bytes, s)));
        if (word.live() && HoldsKey(word, scenario_.relocated_key)) {
          out.push_back({Kind::kRelocateRead, 0, b, s});
        }
      }
    }
  }
}

void System::Tick() {
  ++world_->tick;
  --world_->ticks_left;
  Log([&] { return "clock: tick " + std::to_string(world_->tick); });
}

void System::Recover(uint32_t bucket) {
  uint64_t address = bucket * geometry_.bucket_bytes;
  BucketHeader held(WordAt(address));
  Log([&] { return "server: releases the lock of " + AddressName(address); });
  CompareSwap(kNobody, address, held.raw(), BucketHeader::Free(0, 0).raw());
}

// Copies the record to another block; version and mark stay what they are.
void System::RelocateRead(uint32_t bucket, uint32_t slot) {
  RelocatorState& r = world_->relocator;
  r.busy = 1;
  --r.left;
  r.slot_address = geometry_.SlotAddress(bucket * geometry_.bucket_bytes, slot);
  r.from = SlotWord(WordAt(r.slot_address));
  r.to = book_.Take(kRelocator).WithFingerprint(r.from.fingerprint());
  const std::byte* from = book_.RecordAt(r.from);
  RecordHeader old(PlainWord(from));
  RecordHeader header = RecordHeader::Make(r.to.generation(), old.unconditional(), old.expires(),
                                           old.key_bytes(), old.value_bytes());
  std::byte* to = world_->region + geometry_.RecordAddress(r.to);
  std::memcpy(to, from, old.record_bytes());
  uint64_t expiry = old.expires() ? PlainWord(from + kRecordPrefixBytes) : 0;
  SetPlainWord(to, header.raw());
  SetPlainWord(to + 16, RecordChecksum(header, PlainWord(from + 8), expiry,
                                       {from + old.key_offset(), old.key_bytes()},
                                       {from + old.value_offset(), old.value_bytes()}));
  Log([&] { return "relocator: copies " + WordName(r.slot_address, r.from.raw()); });
}

void System::RelocateSwing() {
  RelocatorState& r = world_->relocator;
  if (CompareSwap(kRelocator, r.slot_address, r.from.raw(), r.to.raw()) == r.from.raw()) {
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
