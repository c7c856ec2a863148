#include "server/growth/split.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "common/layout/checksum.h"
#include "common/layout/word.h"
#include "common/protocol/record_view.h"
#include "server/cpu_atomics.h"

namespace dunlin {
namespace {

constexpr uint32_t kServer = 77;
constexpr uint32_t kSubtables = 4;
constexpr SizeClass kClass = ClassFor(48);
constexpr uint32_t kBlocks = 100'000;

// Fails from the n-th swap on.
class FailingAtomics final : public AtomicAgent {
 public:
  FailingAtomics(std::byte* base, int good) : cpu_(base), good_(good) {}
  absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare, uint64_t swap) override {
    if (good_-- <= 0) return absl::UnavailableError("the device is gone");
    return cpu_.CompareSwap(address, compare, swap);
  }

 private:
  CpuAtomics cpu_;
  int good_;
};

struct Item {
  std::string key;
  uint64_t hash = 0;
  uint64_t version = 0;  // 0: removed
  uint64_t slot = 0;     // address, in the subtable in which it was put
};

// A region of a few subtables of real buckets and a heap of equal blocks, in private memory.
class SplitTest : public testing::Test {
 protected:
  void Make(uint32_t buckets) {
    geometry_.hash_seed = 12345;
    geometry_.bucket_mask = buckets - 1;
    geometry_.heap_offset = kSubtables * geometry_.SubtableBytes();
    geometry_.heap_bytes = uint64_t{kBlocks} * BlockBytes(kClass);
    geometry_.region_bytes = geometry_.heap_offset + geometry_.heap_bytes;
    geometry_.grace = 100;
    geometry_.max_key_bytes = 64;
    base_.reset(static_cast<std::byte*>(
        std::aligned_alloc(4096, (geometry_.region_bytes + 4095) / 4096 * 4096)));
    std::memset(base_.get(), 0, geometry_.region_bytes);
    atomics_.emplace(base_.get());
    env_ = {base_.get(), &geometry_, &*atomics_};
    for (uint32_t b = 0; b < buckets; ++b) {
      Set(b * uint64_t{kBucketBytes}, BucketHeader::Free(0, 0).raw());
    }
    view_ = {&root_, 0, 0};
    root_ = DirectoryEntry::Make(0, 0).raw();
  }

  uint64_t Subtable(uint32_t i) const { return i * geometry_.SubtableBytes(); }
  uint64_t At(uint64_t address) const { return LoadWord(base_.get() + address); }
  void Set(uint64_t address, uint64_t word) { StoreWord(base_.get() + address, word); }
  Split Whole() {
    return Split(Subtable(0), 0, 0, {Subtable(1), false}, {Subtable(2), false}, kServer);
  }
  static Key KeyOf(const Item& item) {
    return {reinterpret_cast<const std::byte*>(item.key.data()),
            static_cast<uint32_t>(item.key.size()), item.hash};
  }

  SlotWord WriteRecord(uint32_t block, const Item& item, uint64_t version) {
    const SlotWord word =
        SlotWord::Make(uint64_t{block} * BlockBytes(kClass), kClass, FingerprintOf(item.hash), 5);
    ComposeHead(base_.get() + geometry_.RecordAddress(word), {word, version}, true, 0, KeyOf(item),
                {});
    return word;
  }

  // Puts keys until there is no room for one in either of its buckets.
  void FillUp() {
    for (uint32_t n = 0;; ++n) {
      Item item{.key = "key" + std::to_string(n)};
      item.hash = HashKey({KeyOf(item).data, KeyOf(item).bytes}, geometry_.hash_seed);
      item.version = 1000 + n;
      const uint64_t slot = FreeSlot(item.hash);
      if (slot == 0) return;
      item.slot = slot;
      Set(slot, WriteRecord(static_cast<uint32_t>(items_.size()), item, item.version).raw());
      items_.push_back(item);
    }
  }

  uint64_t FreeSlot(uint64_t hash) const {
    const Placement place = Place(geometry_, view_, hash);
    uint64_t best = 0;
    uint32_t most = 0;
    for (uint64_t bucket : place.bucket) {
      uint32_t empty = 0;
      uint64_t last = 0;
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        if (At(geometry_.SlotAddress(bucket, s)) != 0) continue;
        ++empty;
        last = geometry_.SlotAddress(bucket, s);
      }
      if (empty > most) best = last;
      most = std::max(most, empty);
    }
    return best;
  }

  void Publish(const Split& split) {
    children_[0] = DirectoryEntry::Make(split.child(0).address, 1).raw();
    children_[1] = DirectoryEntry::Make(split.child(1).address, 1).raw();
    view_ = {children_, 1, 1};
    published_.store(true, std::memory_order_release);
  }

  Split::Progress RunToEnd(Split& split, uint32_t most = 512) {
    for (;;) {
      const Split::Progress progress = split.Step(env_, most);
      if (progress == Split::Progress::kPublish) Publish(split);
      if (progress != Split::Progress::kMore && progress != Split::Progress::kPublish) {
        return progress;
      }
    }
  }

  // Where the directory sends a reader of the key; 0 if it is not there.
  uint64_t Find(const Item& item, const DirectoryView& view, SlotWord* word, RecordView* record) {
    const Placement place = Place(geometry_, view, item.hash);
    for (uint64_t bucket : place.bucket) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        *word = SlotWord(At(geometry_.SlotAddress(bucket, s)));
        if (!word->live() || word->fingerprint() != FingerprintOf(item.hash)) continue;
        const std::byte* data = base_.get() + geometry_.RecordAddress(*word);
        if (MatchRecord(data, *word, KeyOf(item), record) == RecordMatch::kSameKey) {
          return geometry_.SlotAddress(bucket, s);
        }
      }
    }
    return 0;
  }

  // Every key that is there is in its child, in the place it had; nothing is frozen or locked; the
  // old subtable is retired.
  void ExpectSplit(const Split& split) {
    uint32_t live = 0;
    for (const Item& item : items_) {
      SlotWord word;
      RecordView record;
      const uint64_t slot = Find(item, view_, &word, &record);
      if (item.version == 0) {
        EXPECT_EQ(slot, 0u) << item.key;
        continue;
      }
      ++live;
      const uint32_t child = PrefixOf(item.hash, split.depth() + 1) & 1;
      ASSERT_EQ(slot - split.child(child).address, item.slot - split.old_address()) << item.key;
      EXPECT_FALSE(word.frozen());
      EXPECT_EQ(record.version, item.version);
    }
    uint32_t slots = 0;
    for (uint32_t b = 0; b <= geometry_.bucket_mask; ++b) {
      const uint64_t offset = b * uint64_t{kBucketBytes};
      EXPECT_EQ(At(split.old_address() + offset), 0u);
      for (uint32_t child : {0u, 1u}) {
        EXPECT_EQ(At(split.child(child).address + offset),
                  BucketHeader::Free(split.prefix() << 1 | child, split.depth() + 1).raw());
      }
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        EXPECT_EQ(At(geometry_.SlotAddress(split.old_address() + offset, s)),
                  SlotWord::Moved().raw());
        for (uint32_t child : {0u, 1u}) {
          slots += At(geometry_.SlotAddress(split.child(child).address + offset, s)) != 0;
        }
      }
    }
    EXPECT_EQ(slots, live) << "a key is there twice";
  }

  std::vector<std::byte> IndexNow() const {
    return {base_.get(), base_.get() + geometry_.heap_offset};
  }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  Geometry geometry_;
  std::unique_ptr<std::byte, Free> base_;
  std::optional<CpuAtomics> atomics_;
  SplitEnv env_;
  std::vector<Item> items_;
  uint64_t root_ = 0;
  uint64_t children_[2] = {0, 0};
  DirectoryView view_;
  std::atomic<bool> published_{false};
};

TEST_F(SplitTest, MovesEveryKeyToItsChild) {
  Make(1024);
  FillUp();
  Split split = Whole();
  int64_t longest = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (Split::Progress p = Split::Progress::kMore; p != Split::Progress::kDone;) {
    const auto before = std::chrono::steady_clock::now();
    p = split.Step(env_, 2048);
    if (p == Split::Progress::kPublish) Publish(split);
    ASSERT_TRUE(p == Split::Progress::kMore || p == Split::Progress::kPublish ||
                p == Split::Progress::kDone);
    longest = std::max<int64_t>(longest, (std::chrono::steady_clock::now() - before).count());
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu keys of 1024 buckets split in %.2f ms; 2048 words in at most %.3f ms\n",
              items_.size(), std::chrono::duration<double, std::milli>(took).count(),
              static_cast<double>(longest) / 1e6);
  ExpectSplit(split);
  EXPECT_EQ(split.live(0) + split.live(1), items_.size());
  EXPECT_GT(items_.size(), 1024u * kSlotsPerBucket / 2);
  EXPECT_EQ(split.fault(), SplitFault::kNone);
  EXPECT_EQ(split.Step(env_, 1), Split::Progress::kDone);
}

// A client that swings and empties slots, on its own keys, as fast as it can. Returns how many of
// its writes found their slot frozen or MOVED.
TEST_F(SplitTest, UpdatesAndRemovesGoOnMeanwhile) {
  Make(1024);
  FillUp();
  Split split = Whole();
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> writes{0};
  // It may be so many writes ahead of the split, however seldom that one gets a processor.
  constexpr uint32_t kAhead = 20;
  constexpr uint32_t kWhileBlocked = 30'000;
  std::atomic<uint32_t> allowed{0};
  uint32_t refused = 0;
  const DirectoryView old = view_;
  std::thread client([&] {
    Random random(3);
    uint32_t block = static_cast<uint32_t>(items_.size());
    while (!stop.load() && block < kBlocks) {
      if (writes.load() >= allowed.load()) {
        std::this_thread::yield();
        continue;
      }
      Item& item = items_[random.Below(items_.size())];
      if (item.version == 0) continue;
      const bool fresh = published_.load(std::memory_order_acquire);
      SlotWord word;
      RecordView record;
      const uint64_t slot = Find(item, fresh ? view_ : old, &word, &record);
      if (slot == 0) {
        // With the old directory it may be MOVED by now; else it is lost.
        if (fresh || !published_.load()) ADD_FAILURE() << item.key << " is not to be found";
        if (fresh || !published_.load()) return;
        continue;
      }
      if (word.frozen()) {
        ++refused;
        continue;
      }
      const bool remove = random.Below(20) == 0;
      const uint64_t version = 1'000'000 + block;
      const uint64_t next = remove ? 0 : WriteRecord(block++, item, version).raw();
      if (CompareSwapWord(base_.get() + slot, word.raw(), next) != word.raw()) {
        ++refused;
        continue;
      }
      item.version = remove ? 0 : version;
      writes.fetch_add(1);
    }
  });
  const auto at_work = [&](uint32_t more) {
    const uint32_t goal = writes.load() + more;
    allowed.store(goal + kAhead);
    while (writes.load() < goal && !HasFailure()) std::this_thread::yield();
  };
  at_work(1000);
  bool blocked = false;
  for (Split::Progress p = Split::Progress::kMore; p != Split::Progress::kDone;) {
    p = split.Step(env_, 64);
    ASSERT_NE(p, Split::Progress::kFault);
    if (p == Split::Progress::kPublish) Publish(split);
    if (p == Split::Progress::kDone) break;
    if (!split.blocks_writes()) {
      at_work(1);
    } else if (!blocked) {
      // As much as it can, whenever it can.
      blocked = true;
      allowed.store(writes.load() + kWhileBlocked);
    }
  }
  at_work(1000);
  stop.store(true);
  client.join();
  ExpectSplit(split);
  std::printf("%u writes, %u refused by a frozen or moved slot\n", writes.load(), refused);
}

TEST_F(SplitTest, WaitsForALockAndGoesOn) {
  Make(16);
  FillUp();
  const uint64_t lock = 5 * kBucketBytes;
  Set(lock, BucketHeader::Free(0, 0).HeldBy(9, 3).raw());
  Split split = Whole();
  EXPECT_FALSE(split.blocks_writes());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(split.Step(env_, 100), Split::Progress::kWait);
    EXPECT_EQ(split.lock_address(), lock);
    EXPECT_EQ(At(lock - kBucketBytes), BucketHeader::Free(0, 0).HeldBy(kServer, 0).raw());
    EXPECT_EQ(At(lock + kBucketBytes), BucketHeader::Free(0, 0).raw());
  }
  EXPECT_TRUE(split.blocks_writes());
  Set(lock, BucketHeader::Free(0, 0).raw());
  EXPECT_EQ(RunToEnd(split), Split::Progress::kDone);
  EXPECT_FALSE(split.blocks_writes());
  ExpectSplit(split);
}

TEST_F(SplitTest, CancelledAnywhereItLeavesNoTrace) {
  for (bool retired : {false, true}) {
    for (int steps = 0;; ++steps) {
      items_.clear();
      Make(2);
      FillUp();
      for (uint32_t i = 0; retired && i < geometry_.SubtableBytes(); i += kWordBytes) {
        if (i % kBucketBytes != 0) Set(Subtable(1) + i, SlotWord::Moved().raw());
      }
      const std::vector<std::byte> before = IndexNow();
      Split split(Subtable(0), 0, 0, {Subtable(1), retired}, {Subtable(2), false}, kServer);
      Split::Progress p = Split::Progress::kMore;
      for (int i = 0; i < steps && p == Split::Progress::kMore; ++i) p = split.Step(env_, 1);
      if (p == Split::Progress::kPublish) {
        EXPECT_FALSE(split.Cancel());
        Publish(split);
        EXPECT_EQ(RunToEnd(split, 1), Split::Progress::kDone);
        ExpectSplit(split);
        EXPECT_GT(steps, 90);
        break;
      }
      EXPECT_TRUE(split.Cancel());
      EXPECT_EQ(RunToEnd(split, 3), Split::Progress::kCancelled);
      ASSERT_EQ(IndexNow(), before) << "after " << steps << " steps";
    }
  }
}

TEST_F(SplitTest, CancelledWhileItWaits) {
  Make(16);
  FillUp();
  Set(5 * kBucketBytes, BucketHeader::Free(0, 0).HeldBy(9, 3).raw());
  const std::vector<std::byte> before = IndexNow();
  Split split = Whole();
  EXPECT_EQ(RunToEnd(split), Split::Progress::kWait);
  EXPECT_TRUE(split.Cancel());
  EXPECT_FALSE(split.Cancel());
  EXPECT_EQ(RunToEnd(split), Split::Progress::kCancelled);
  EXPECT_EQ(IndexNow(), before);
}

TEST_F(SplitTest, RetiredMemoryServesAgain) {
  Make(64);
  FillUp();
  Split first = Whole();
  ASSERT_EQ(RunToEnd(first), Split::Progress::kDone);
  // The left child is split into what the first split retired, and memory never used.
  std::vector<Item> left;
  for (const Item& item : items_) {
    if (PrefixOf(item.hash, 1) != 0) continue;
    left.push_back(item);
    left.back().slot += first.child(0).address;
  }
  Split second(first.child(0).address, 0, 1, {Subtable(0), true}, {Subtable(3), false}, kServer);
  EXPECT_EQ(RunToEnd(second), Split::Progress::kDone);
  const uint64_t entries[4] = {
      DirectoryEntry::Make(Subtable(0), 2).raw(), DirectoryEntry::Make(Subtable(3), 2).raw(),
      DirectoryEntry::Make(Subtable(2), 1).raw(), DirectoryEntry::Make(Subtable(2), 1).raw()};
  view_ = {entries, 2, 2};
  items_ = left;
  ExpectSplit(second);
}

TEST_F(SplitTest, OneWordIsChangedInOneStep) {
  Make(2);
  FillUp();
  for (uint32_t i = 0; i < geometry_.SubtableBytes(); i += kWordBytes) {
    if (i % kBucketBytes != 0) Set(Subtable(1) + i, SlotWord::Moved().raw());
    if (i % kBucketBytes != 0) Set(Subtable(2) + i, SlotWord::Moved().raw());
  }
  Split split(Subtable(0), 0, 0, {Subtable(1), true}, {Subtable(2), true}, kServer);
  std::vector<std::byte> before = IndexNow();
  for (Split::Progress p = Split::Progress::kMore; p != Split::Progress::kDone;) {
    p = split.Step(env_, 1);
    if (p == Split::Progress::kPublish) Publish(split);
    const std::vector<std::byte> now = IndexNow();
    int changed = 0;
    for (size_t i = 0; i < now.size(); i += kWordBytes) {
      changed += PlainWord(&now[i]) != PlainWord(&before[i]);
    }
    ASSERT_LE(changed, 1);
    before = now;
  }
  ExpectSplit(split);
}

// What is damaged is reported, and everything is as it was.
TEST_F(SplitTest, GarbageIsAFaultAndUndone) {
  Make(16);
  FillUp();
  const Item& victim = items_[items_.size() / 2];
  const SlotWord good(At(victim.slot));
  const uint64_t record = geometry_.RecordAddress(good);
  const uint64_t header = At(record);
  struct Damage {
    const char* what;
    uint64_t address;
    uint64_t word;
    SplitFault fault;
  };
  const Damage damages[] = {
      {"another generation", record, header ^ 1, SplitFault::kRecord},
      {"reserved bits", record, header | RecordHeader::kReservedMask, SplitFault::kRecord},
      {"longer than its block", record, header | uint64_t{1} << 60, SplitFault::kRecord},
      {"no key", record, header & ~(uint64_t{0xFFFF} << 16), SplitFault::kRecord},
      {"another key", record + kRecordPrefixBytes, 0x41, SplitFault::kRecord},
      {"another fingerprint", victim.slot, good.WithFingerprint(good.fingerprint() ^ 1).raw(),
       SplitFault::kRecord},
      {"outside the heap", victim.slot, good.raw() | uint64_t{1} << 63, SplitFault::kRecord},
      {"MOVED", victim.slot, SlotWord::Moved().raw(), SplitFault::kSlot},
      {"no class", victim.slot, 2, SplitFault::kSlot},
      {"another identity", 3 * kBucketBytes, BucketHeader::Free(1, 1).raw(), SplitFault::kIdentity},
      {"no identity", 3 * kBucketBytes, 0, SplitFault::kIdentity},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    const uint64_t good_word = At(damage.address);
    Set(damage.address, damage.word);
    const std::vector<std::byte> before = IndexNow();
    Split split = Whole();
    EXPECT_EQ(RunToEnd(split), Split::Progress::kFault);
    EXPECT_EQ(split.fault(), damage.fault);
    EXPECT_EQ(split.fault_address(),
              damage.fault == SplitFault::kIdentity ? damage.address : victim.slot);
    EXPECT_FALSE(split.blocks_writes());
    EXPECT_EQ(IndexNow(), before);
    Set(damage.address, good_word);
  }
  Split split = Whole();
  EXPECT_EQ(RunToEnd(split), Split::Progress::kDone);
  ExpectSplit(split);
}

// Behind the publication there is no way back.
TEST_F(SplitTest, WhoBreaksTheProtocolLaterIsNoted) {
  Make(16);
  FillUp();
  Split split = Whole();
  while (split.Step(env_, 64) != Split::Progress::kPublish) {
  }
  Publish(split);
  Set(items_[0].slot, SlotWord(At(items_[0].slot)).Thawed().raw());
  EXPECT_EQ(RunToEnd(split), Split::Progress::kDone);
  EXPECT_EQ(split.fault(), SplitFault::kForeign);
  EXPECT_EQ(split.fault_address(), items_[0].slot);
  ExpectSplit(split);
}

TEST_F(SplitTest, AtomicsThatFailAreReported) {
  for (int good = 0; good < 200; good += 7) {
    items_.clear();
    Make(16);
    FillUp();
    FailingAtomics failing(base_.get(), good);
    env_.atomics = &failing;
    Split split = Whole();
    EXPECT_EQ(RunToEnd(split), Split::Progress::kFault);
    EXPECT_EQ(split.fault(), SplitFault::kAtomics);
    EXPECT_EQ(env_.error.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(split.Step(env_, 1), Split::Progress::kFault);
  }
}

}  // namespace
}  // namespace dunlin
