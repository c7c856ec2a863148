#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/layout/checksum.h"
#include "common/layout/directory.h"
#include "common/layout/geometry.h"
#include "common/layout/record.h"
#include "common/protocol/record_view.h"
#include "server/core.h"
#include "server/region_plan.h"
#include "server/region_view.h"

namespace dunlin {

// A ServerCore over a small formatted region in private memory, and what a client would do to it.
class CoreFixture : public ::testing::Test {
 protected:
  static constexpr uint64_t kGrace = 100;
  static constexpr uint64_t kSeed = 9;  // of hashes

  explicit CoreFixture(uint64_t memory = uint64_t{4} << 20) : plan_(Plan(memory, 7)) {
    base_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, plan_.region_bytes)));
    Start({.release = "1.2.3",
           .pid = 77,
           .numa = "any node",
           .first_version = 1000,
           .no_shm_because = "",
           .endpoints = {}},
          1000);
    atomics_.emplace(base_.get());
  }

  static Superblock Plan(uint64_t memory, uint64_t incarnation) {
    ServerOptions options;
    options.memory = memory;
    options.records = 1000;
    options.max_sessions = 8;
    options.grace = static_cast<int64_t>(kGrace) * 1'000'000;
    options.max_value_size = 1 << 20;
    auto plan = PlanRegion(options, {.incarnation = incarnation, .hash_seed = kSeed});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *plan;
  }
  // A server that knows nothing, on a region that holds nothing, of plan_.
  void Start(ServerCore::Config config, uint64_t tick) {
    core_.reset();
    geometry_ = Geometry::Of(plan_);
    std::memset(base_.get(), 0, plan_.region_bytes);
    FormatRegion(base_.get(), plan_);
    core_.emplace(base_.get(), plan_, std::move(config));
    core_->SetTick(tick);
    core_->SetState(ServerState::kServing);
  }

  uint32_t Open(bool read_only = false) {
    auto session = core_->OpenSession({"test", 123, read_only});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? (*session)->id : 0;
  }

  ServerCore::Blocks Take(uint32_t session, uint32_t bytes, uint32_t want, uint64_t resolved = 0) {
    EXPECT_TRUE(core_->Resolve(session, resolved));
    SizeClass c = ClassFor(bytes);
    return core_->TakeBlocks(session, {c, want, c == kRunClass ? bytes : 0, resolved});
  }

  void Settle() {
    for (int turn = 0; turn < 100000 && core_->Background(); ++turn) {
    }
  }
  void Pass(uint64_t ticks) {
    core_->SetTick(core_->tick() + ticks);
    Settle();
  }

  // The patrol does all that is due at this tick.
  void RunPatrol() {
    for (int turn = 0; turn < 1'000'000 && core_->StepPatrol(); ++turn) {
    }
  }
  // A whole sweep that begins now; what it frees is in grace afterwards. Returns how many blocks.
  uint64_t Sweep() {
    const uint64_t before = core_->patrol().figures().swept_blocks;
    const uint64_t ticket = core_->patrol().RequestSweep();
    for (int turn = 0; turn < 100 && !core_->patrol().Swept(ticket); ++turn) {
      RunPatrol();
      if (!core_->patrol().Swept(ticket)) Pass(kGrace / 4);
    }
    EXPECT_TRUE(core_->patrol().Swept(ticket));
    return core_->patrol().figures().swept_blocks - before;
  }

  // Address of a slot.
  uint64_t Slot(uint64_t bucket, uint32_t slot) const {
    return plan_.index_offset + bucket * kBucketBytes + kWordBytes * (1 + slot);
  }
  void* At(uint64_t address) const { return base_.get() + address; }
  void Link(uint64_t slot, uint64_t word) { StoreWord(At(slot), word); }
  // Writes the head of a record into a block.
  void WriteRecord(SlotWord word, bool expires, uint64_t expiry) {
    RecordHeader header = RecordHeader::Make(word.generation(), true, expires, 4, 8);
    std::byte* record = base_.get() + plan_.heap_offset + word.heap_offset();
    StoreWord(record, header.raw());
    if (expires) StoreWord(record + kRecordPrefixBytes, expiry);
  }

  uint64_t HashOf(std::string_view key) const { return HashKey(AsBytes(key), plan_.hash_seed); }
  Key MakeKey(std::string_view key) const {
    return {AsBytes(key).data(), static_cast<uint32_t>(key.size()), HashOf(key)};
  }
  // Writes a whole record into a block; its word, with the key's fingerprint.
  SlotWord Write(uint64_t block, std::string_view key, std::string_view value = "a value",
                 uint64_t expiry = 0) {
    const SlotWord word = SlotWord(block).WithFingerprint(FingerprintOf(HashOf(key)));
    std::byte* record = base_.get() + geometry_.RecordAddress(word);
    const Bytes bytes = AsBytes(value);
    const uint32_t head = ComposeHead(record, {word, 1}, true, expiry, MakeKey(key), bytes);
    std::memcpy(record + head, bytes.data(), bytes.size());
    return word;
  }
  Placement PlaceOf(std::string_view key) const {
    return Place(geometry_, core_->index().directory(), HashOf(key));
  }
  // Links a record at the key's place, in the emptier of its buckets. Its slot's address; 0 if
  // there is no room.
  uint64_t LinkKey(std::string_view key, SlotWord word) {
    uint64_t best = 0;
    int most = 0;
    for (uint64_t bucket : PlaceOf(key).bucket) {
      int empty = 0;
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const uint64_t address = geometry_.SlotAddress(bucket, s);
        if (LoadWord(At(address)) != 0 || ++empty <= most) continue;
        best = address;
        most = empty;
      }
    }
    if (best != 0) Link(best, word.raw());
    return best;
  }
  // Both. Its slot's address.
  uint64_t WriteAndLink(uint64_t block, std::string_view key, std::string_view value = "a value",
                        uint64_t expiry = 0) {
    return LinkKey(key, Write(block, key, value, expiry));
  }
  // What a reader of the key finds.
  struct Found {
    uint64_t slot = 0;
    SlotWord word;
    std::string value;
  };
  std::optional<Found> Find(std::string_view key) const {
    const Key wanted = MakeKey(key);
    for (uint64_t bucket : PlaceOf(key).bucket) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const uint64_t slot = geometry_.SlotAddress(bucket, s);
        const SlotWord word(LoadWord(At(slot)));
        if (!word.live() || word.fingerprint() != FingerprintOf(wanted.hash) ||
            word.heap_offset() >= plan_.heap_bytes) {
          continue;
        }
        RecordView view;
        const std::byte* record = base_.get() + geometry_.RecordAddress(word);
        if (MatchRecord(record, word, wanted, &view) != RecordMatch::kSameKey) continue;
        const std::byte* value = record + view.header.value_offset();
        if (!ChecksumFits(view, wanted, value)) continue;
        return Found{slot, word, std::string(AsText({value, view.header.value_bytes()}))};
      }
    }
    return std::nullopt;
  }
  std::optional<std::string> Read(std::string_view key) const {
    const std::optional<Found> found = Find(key);
    return found ? std::optional(found->value) : std::nullopt;
  }
  // The lock of a bucket, held by that session. Its address.
  uint64_t HoldLock(uint64_t bucket, uint32_t session, uint32_t operation = 1) {
    const uint64_t address = plan_.index_offset + bucket * kBucketBytes;
    const BucketHeader free = HeaderAt(address).Unheld();
    StoreWord(At(address), free.HeldBy(session, operation).raw());
    return address;
  }
  BucketHeader HeaderAt(uint64_t address) const { return BucketHeader(LoadWord(At(address))); }

  const BlockPool& pool() const { return core_->allocator().pool(); }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  Superblock plan_;
  Geometry geometry_{};
  std::unique_ptr<std::byte, Free> base_;
  std::optional<ServerCore> core_;
  std::optional<CpuAtomics> atomics_;
};

}  // namespace dunlin
