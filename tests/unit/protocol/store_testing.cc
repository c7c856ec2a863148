#include "tests/unit/protocol/store_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "common/fabric/follow.h"
#include "common/layout/checksum.h"
#include "common/protocol/record_view.h"
#include "common/protocol/scan.h"

namespace dunlin::testing {
namespace {

constexpr uint32_t kBuckets = 4;
constexpr uint64_t kIndexOffset = 4096;
constexpr uint64_t kHeapOffset = 8192;
constexpr uint64_t kHeapBytes = uint64_t{16} << 20;

std::span<const std::byte> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

Store::Store(uint32_t slots_per_bucket) {
  geometry.region_bytes = kHeapOffset + kHeapBytes;
  geometry.slots_per_bucket = slots_per_bucket;
  geometry.bucket_bytes = (1 + slots_per_bucket) * kWordBytes;
  geometry.bucket_mask = kBuckets - 1;
  geometry.heap_offset = kHeapOffset;
  geometry.heap_bytes = kHeapBytes;
  geometry.grace = 100;
  geometry.max_key_bytes = kMaxKeyBytes;
  geometry.max_value_bytes = uint64_t{64} << 20;
  memory_.reset(new std::byte[geometry.region_bytes + 64]());
  region_ = memory_.get() + (64 - reinterpret_cast<uintptr_t>(memory_.get()) % 64);
  scratch_.reset(new std::byte[ScanBucket::kScratchBytes]());
  chain_.scratch = scratch_.get();
  directory_[0] = DirectoryEntry::Make(kIndexOffset, 0).raw();
  for (uint32_t b = 0; b < kBuckets; ++b) {
    SetWord(kIndexOffset + b * geometry.bucket_bytes, BucketHeader::Free(0, 0).raw());
  }
  env.geometry = &geometry;
  env.directory = {directory_, 0, 0};
  env.now = clock;
  env.posted = clock;
  env.session = 7;
  env.operation = 3;
  env.scratch_bytes = ScanBucket::kScratchBytes;
}

Key Store::MakeKey(std::string_view text, uint64_t hash) {
  return {BytesOf(text).data(), static_cast<uint32_t>(text.size()), hash};
}

Key Store::MakeKey(std::string_view text) const { return MakeKey(text, HashKey(BytesOf(text), 0)); }

Block Store::Take(uint64_t bytes) {
  SizeClass size_class = ClassFor(bytes);
  if (size_class == kRunClass) heap_used_ = RunBytes(heap_used_);
  Block block{SlotWord::Make(heap_used_, size_class, 0, 1), next_version_++};
  heap_used_ += size_class == kRunClass ? RunBytes(bytes) : BlockBytes(size_class);
  return block;
}

uint64_t Store::Compose(const Key& key, std::string_view value, const Put& how, Location* at) {
  Block block = Take(RecordBytes(key.bytes, value.size(), how.expiry != 0));
  block.word = block.word.WithFingerprint(FingerprintOf(key.hash));
  std::byte* record = region_ + geometry.RecordAddress(block.word);
  uint32_t head = ComposeHead(record, block, how.unconditional, how.expiry, key, BytesOf(value));
  std::memcpy(record + head, value.data(), value.size());
  at->word = block.word;
  at->version = block.version;
  at->expiry = how.expiry;
  return block.word.raw();
}

Location Store::Place(const Key& key, std::string_view value, Put how) {
  Location at;
  uint64_t word = Compose(key, value, how, &at);
  uint64_t bucket = PlacementOf(key).bucket[how.bucket];
  for (uint32_t s = 0; s < geometry.slots_per_bucket; ++s) {
    at.slot_address = geometry.SlotAddress(bucket, s);
    if (WordAt(at.slot_address) != 0) continue;
    SetWord(at.slot_address, word);
    return at;
  }
  return {};
}

Location Store::Replace(const Location& old, const Key& key, std::string_view value, Put how) {
  Location at;
  at.slot_address = old.slot_address;
  SetWord(at.slot_address, Compose(key, value, how, &at));
  return at;
}

void Store::CarryOut() {
  std::string text;
  env.posted = clock;
  outcome = ChainOutcome::kDone;
  chain_.follow.wanted = chain_.follow.wanted && follows;
  if (before_chain) before_chain(chains.size());
  CarryOutFrom(0, text);
  if (chain_.follow.wanted && outcome == ChainOutcome::kDone) {
    EXPECT_TRUE(MayFollow(chain_, geometry.heap_offset + geometry.heap_bytes));
    const uint32_t asked = chain_.count;
    AppendFollowed(chain_);
    CarryOutFrom(asked, text);
    if (before_swing) before_swing();
    AppendSwing(chain_);
    CarryOutFrom(chain_.count - chain_.swung, text);
  }
  chains.push_back(text);
  chain_.outcome = outcome;
  env.now = clock;
}

void Store::CarryOutFrom(uint32_t first, std::string& text) {
  for (uint32_t i = first; i < chain_.count; ++i) {
    if (!text.empty()) text += ", ";
    text += Describe(chain_.work[i]);
    if (outcome == ChainOutcome::kDone) Execute(chain_.work[i]);
  }
}

void Store::Execute(Work& work) {
  std::byte* remote = region_ + work.remote;
  switch (work.verb) {
    case Verb::kRead:
      if (work.by_reference && env.references) {
        work.data = remote;
      } else {
        std::byte* target = work.sink != nullptr ? work.sink : chain_.scratch + work.local;
        std::memcpy(target, remote, work.length);
        work.data = target;
      }
      break;
    case Verb::kReadWord:
      work.result = LoadWord(remote);
      break;
    case Verb::kWrite:
      std::memcpy(remote, chain_.scratch + work.local, work.length);
      if (work.tail_length != 0) {
        std::memcpy(remote + work.length, work.tail, work.tail_length);
      }
      break;
    case Verb::kCompareSwap:
      work.result = CompareSwapWord(remote, work.compare, work.swap);
      break;
    case Verb::kFetchAdd:
      work.result = FetchAddWord(remote, work.swap);
      break;
  }
}

std::string Store::Describe(const Work& work) const {
  bool in_heap = work.remote >= kHeapOffset;
  uint64_t in_bucket = (work.remote - kIndexOffset) % geometry.bucket_bytes;
  uint64_t bucket = (work.remote - kIndexOffset) / geometry.bucket_bytes;
  switch (work.verb) {
    case Verb::kWrite:
      return "WRITE record";
    case Verb::kReadWord:
      return "READ slot";
    case Verb::kFetchAdd:
      return "FETCH_ADD";
    case Verb::kRead: {
      if (!in_heap) return "READ b" + std::to_string(bucket);
      bool aligned = work.remote % kWordBytes == 0 &&
                     RecordHeader(LoadWord(region_ + work.remote)).plausible();
      if (!aligned) return "READ piece";
      RecordHeader header(LoadWord(region_ + work.remote));
      return work.length >= header.record_bytes() ? "READ record" : "READ head";
    }
    case Verb::kCompareSwap:
      break;
  }
  if (in_bucket == 0) return BucketHeader(work.swap).held() ? "CAS lock" : "CAS unlock";
  if (work.compare == 0) return "CAS slot 0->new";
  return work.swap == 0 ? "CAS slot old->0" : "CAS slot old->new";
}

}  // namespace dunlin::testing
