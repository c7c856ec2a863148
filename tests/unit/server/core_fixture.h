#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/layout/directory.h"
#include "common/layout/record.h"
#include "server/core.h"
#include "server/region_plan.h"
#include "server/region_view.h"

namespace dunlin {

// A ServerCore over a small formatted region in private memory, and what a client would do to it.
class CoreFixture : public testing::Test {
 protected:
  static constexpr uint64_t kGrace = 100;

  CoreFixture() {
    ServerOptions options;
    options.memory = uint64_t{4} << 20;
    options.records = 1000;
    options.max_sessions = 8;
    options.grace = static_cast<int64_t>(kGrace) * 1'000'000;
    options.max_value_size = 1 << 20;
    auto plan = PlanRegion(options, {.incarnation = 7, .hash_seed = 9});
    EXPECT_TRUE(plan.ok()) << plan.status();
    plan_ = *plan;
    base_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, plan_.region_bytes)));
    std::memset(base_.get(), 0, plan_.region_bytes);
    FormatRegion(base_.get(), plan_);
    core_.emplace(base_.get(), plan_,
                  ServerCore::Config{.release = "1.2.3",
                                     .pid = 77,
                                     .numa = "any node",
                                     .first_version = 1000,
                                     .no_shm_because = "",
                                     .endpoints = {}});
    atomics_.emplace(base_.get());
    core_->SetTick(1000);
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

  const BlockPool& pool() const { return core_->allocator().pool(); }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  Superblock plan_{};
  std::unique_ptr<std::byte, Free> base_;
  std::optional<ServerCore> core_;
  std::optional<CpuAtomics> atomics_;
};

}  // namespace dunlin
