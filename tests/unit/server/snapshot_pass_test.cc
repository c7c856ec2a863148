#include "server/snapshot/snapshot_pass.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/random.h"
#include "common/snapshot/snapshot_tag.h"
#include "server/growth/grower.h"
#include "server/snapshot/record_image.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

using Contents = std::map<std::string, std::string>;

// What a store would hold: the entries of the committed passes, and those of the one under way.
class FakeStore final : public SnapshotSink {
 public:
  explicit FakeStore(uint64_t seed) : seed_(seed) {}
  bool Room() const override { return room_ != 0; }
  void Push(SnapshotBatch batch) override {
    if (room_ > 0) --room_;
    for (const SnapshotBatch::Item& item : batch.items) {
      EXPECT_TRUE(!last_tag_ || item.tag > *last_tag_) << "tags increase within a layer";
      last_tag_ = item.tag;
      if (item.bytes == 0) {
        next_.erase(item.tag);
      } else {
        next_[item.tag] = Parse(batch, item);
      }
    }
    if (batch.ends_layer) last_tag_.reset();
    layers_ += batch.ends_layer;
  }
  void Begin(bool full) {
    next_ = full ? std::map<uint64_t, Contents>() : committed_;
    last_tag_.reset();
  }
  void Commit() { committed_ = next_; }
  Contents Committed() const {
    Contents all;
    for (const auto& [tag, entry] : committed_) {
      for (const auto& each : entry) EXPECT_TRUE(all.insert(each).second) << each.first;
    }
    return all;
  }
  uint64_t entries() const { return committed_.size(); }
  int layers() const { return layers_; }
  void set_room(int batches) { room_ = batches; }

 private:
  Contents Parse(const SnapshotBatch& batch, const SnapshotBatch::Item& item) const {
    Contents entry;
    for (uint64_t at = item.offset; at < item.offset + item.bytes;) {
      const RecordImage record(batch.bytes.data() + at);
      const bool added = entry.emplace(AsText(record.key()), AsText(record.value())).second;
      EXPECT_TRUE(added) << "a key twice in one entry";
      EXPECT_EQ(SnapshotTag(HashKey(record.key(), seed_)), item.tag);
      at += record.bytes();
    }
    return entry;
  }

  const uint64_t seed_;
  std::map<uint64_t, Contents> committed_;
  std::map<uint64_t, Contents> next_;
  std::optional<uint64_t> last_tag_;
  int room_ = -1;  // without bound
  int layers_ = 0;
};

class SnapshotPassTest : public CoreFixture {
 protected:
  SnapshotPassTest()
      : CoreFixture(uint64_t{24} << 20),
        region_(base_.get(), plan_),
        index_(region_, plan_),
        allocator_(plan_.heap_bytes, plan_.grace_ms),
        grower_(region_, {&index_, &allocator_, &*atomics_}, BucketHeader::kMaxOwner),
        shadow_(geometry_.bucket_mask + 1),
        pass_(region_, {&index_, &allocator_.pool(), &shadow_}) {}

  // What clients do, to the index as it is now.
  Placement Where(const std::string& key) const {
    return Place(geometry_, index_.directory(), HashOf(key));
  }
  uint64_t SlotOf(const std::string& key) const {
    for (uint64_t bucket : Where(key).bucket) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const uint64_t slot = geometry_.SlotAddress(bucket, s);
        const SlotWord word(LoadWord(At(slot)));
        if (!word.live() || word.fingerprint() != FingerprintOf(HashOf(key))) continue;
        const auto sight = SeeRecord(region_, word, 1 << 20);
        if (sight && AsText(sight->key()) == key) return slot;
      }
    }
    return 0;
  }
  SlotWord NewRecord(const std::string& key, const std::string& value, uint64_t expiry) {
    std::vector<BlockRef> blocks;
    const uint64_t bytes = RecordBytes(key.size(), value.size(), expiry != 0);
    if (ClassFor(bytes) == kRunClass) {
      blocks.push_back(*allocator_.TakeRun(bytes, tick_));
    } else {
      EXPECT_EQ(allocator_.Take(ClassFor(bytes), 1, tick_, blocks), 1u);
    }
    return Write(blocks[0].word().raw(), key, value, expiry);
  }
  void Put(const std::string& key, const std::string& value, uint64_t expiry = 0) {
    const SlotWord word = NewRecord(key, value, expiry);
    uint64_t slot = SlotOf(key);
    if (slot != 0) {
      allocator_.Return(SlotWord(LoadWord(At(slot))), tick_);
    } else {
      int most = 0;
      for (uint64_t bucket : Where(key).bucket) {
        int free = 0;
        for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
          const uint64_t at = geometry_.SlotAddress(bucket, s);
          if (LoadWord(At(at)) == 0 && ++free > most) slot = at, most = free;
        }
      }
    }
    ASSERT_NE(slot, 0u);
    Link(slot, word.raw());
    contents_[key] = value;
  }
  void Remove(const std::string& key) {
    const uint64_t slot = SlotOf(key);
    if (slot == 0) return;
    allocator_.Return(SlotWord(LoadWord(At(slot))), tick_);
    Link(slot, 0);
    contents_.erase(key);
  }
  void EndGrace() {
    tick_ += kGrace;
    while (allocator_.Advance(tick_, {tick_ + 1, pass_.pinned_tick()}, 1000) != 0) {
    }
  }

  void Begin(SnapshotPass::Kind kind = SnapshotPass::Kind::kWrite) {
    ++pass_number_;
    store_.Begin(kind == SnapshotPass::Kind::kFull);
    pass_.Begin(kind, pass_number_, committed_, &store_);
  }
  // To its end, or until it can't go on.
  void Walk() {
    while (pass_.active() && pass_.Step(tick_, grower_.splitting())) {
    }
  }
  void Commit() {
    ASSERT_FALSE(pass_.active());
    store_.Commit();
    committed_ = pass_number_;
  }
  void Snapshot(SnapshotPass::Kind kind = SnapshotPass::Kind::kWrite) {
    Begin(kind);
    Walk();
    Commit();
  }
  void Mark() {
    pass_.Begin(SnapshotPass::Kind::kMark, 0, committed_, nullptr);
    Walk();
  }
  void BeginSplit() {
    const IndexSpace::Subtable next = index_.At(0);
    if (pass_.In(next)) pass_.StepBack();
    grower_.Start(next, tick_);
  }
  void EndSplit() {
    while (grower_.splitting() != nullptr) grower_.Step(tick_);
  }

  RegionView region_;
  IndexSpace index_;
  Allocator allocator_;
  Grower grower_;
  Shadow shadow_;
  SnapshotPass pass_;
  FakeStore store_{plan_.hash_seed};
  uint64_t tick_ = 1000;
  uint64_t pass_number_ = 0;
  uint64_t committed_ = 0;
  Contents contents_;
};

std::string KeyOf(uint64_t number) { return "key " + std::to_string(number); }

TEST_F(SnapshotPassTest, HandsOnWhatChangedAndNothingElse) {
  Snapshot();
  EXPECT_EQ(pass_.figures().puts + pass_.figures().deletes, 0u);
  for (int i = 0; i < 100; ++i) Put(KeyOf(i), "first");
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(pass_.figures().puts, 100u);
  Put(KeyOf(7), "second, in the same slot");
  Remove(KeyOf(8));
  Put("new", "of now");
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(pass_.figures().puts, 2u);
  EXPECT_EQ(pass_.figures().deletes, 1u);
  Snapshot();
  EXPECT_EQ(pass_.figures().puts + pass_.figures().deletes, 0u);
  EXPECT_EQ(shadow_.records(), contents_.size());
}

TEST_F(SnapshotPassTest, AKeyThatTakesTheSlotOfAnotherReplacesIt) {
  Put("a", "1");
  Snapshot();
  const uint64_t slot = SlotOf("a");
  Remove("a");
  // Some key whose bucket has that slot as its first free one.
  for (int i = 0; SlotOf(KeyOf(i)) != slot && i < 100'000; ++i) {
    const auto place = Where(KeyOf(i));
    const uint64_t bucket = slot / kBucketBytes * kBucketBytes;
    if (place.bucket[0] == bucket) Put(KeyOf(i), "in its place");
  }
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_FALSE(store_.Committed().contains("a"));
}

TEST_F(SnapshotPassTest, AnExpiredRecordIsLeftOutAndComesOutOfTheStore) {
  Put("lasting", "1");
  Put("expiring", "2", tick_ + 50);
  Snapshot();
  EXPECT_EQ(store_.Committed().size(), 2u);
  tick_ += 50;
  Put("expiring", "3", tick_);
  Snapshot();
  EXPECT_EQ(store_.Committed(), (Contents{{"lasting", "1"}}));
}

TEST_F(SnapshotPassTest, AFullPassForgetsTheShadow) {
  for (int i = 0; i < 50; ++i) Put(KeyOf(i), "v");
  Snapshot();
  Snapshot(SnapshotPass::Kind::kFull);
  EXPECT_EQ(pass_.figures().puts, 50u);
  EXPECT_EQ(store_.Committed(), contents_);
}

TEST_F(SnapshotPassTest, WhatAFailedPassHandedOnIsHandedOnAgain) {
  for (int i = 0; i < 60; ++i) Put(KeyOf(i), "first");
  Snapshot();
  Put(KeyOf(1), "second");
  Remove(KeyOf(2));
  Put("new", "of now");
  Begin();
  Walk();  // ... and no commit
  Remove("new");
  Put(KeyOf(3), "third");
  Begin();
  Walk();  // ... nor here
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(pass_.figures().puts, 2u);
  EXPECT_EQ(pass_.figures().deletes, 2u);
  Snapshot();
  EXPECT_EQ(pass_.figures().puts + pass_.figures().deletes, 0u);
}

TEST_F(SnapshotPassTest, APassThatIsDroppedHalfWayIsMadeGoodFor) {
  for (int i = 0; i < 9000; ++i) Put(KeyOf(i), "v");
  Begin();
  for (int i = 0; i < 30; ++i) pass_.Step(tick_, nullptr);
  pass_.Drop();
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
}

TEST_F(SnapshotPassTest, WaitsForRoom) {
  for (int i = 0; i < 9000; ++i) Put(KeyOf(i), std::string(300, 'v'));
  Begin();
  store_.set_room(1);
  Walk();
  EXPECT_TRUE(pass_.active());
  EXPECT_FALSE(pass_.Step(tick_, nullptr));
  store_.set_room(-1);
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), contents_);
}

// Splits.

TEST_F(SnapshotPassTest, ASplitMakesNothingLookChanged) {
  for (int i = 0; i < 11'000; ++i) Put(KeyOf(i), "v");
  Snapshot();
  BeginSplit();
  EndSplit();
  ASSERT_EQ(index_.subtables(), 2u);
  Put(KeyOf(1), "w");
  Remove(KeyOf(2));
  Snapshot();
  EXPECT_EQ(pass_.figures().puts, 1u);
  EXPECT_EQ(pass_.figures().deletes, 1u);
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(shadow_.tables(), 2u);
  Snapshot();
  EXPECT_EQ(pass_.figures().puts + pass_.figures().deletes, 0u);
}

TEST_F(SnapshotPassTest, ASubtableThatIsBeingSplitIsWaitedFor) {
  for (int i = 0; i < 11'000; ++i) Put(KeyOf(i), "v");
  Begin();
  BeginSplit();
  EXPECT_FALSE(pass_.Step(tick_, grower_.splitting()));
  EndSplit();
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), contents_);
}

// So many steps into the pass the subtable that it is in is split, and clients change what was
// handed on already, and what was not.
class SplitInItsMidst : public SnapshotPassTest, public testing::WithParamInterface<int> {};

TEST_P(SplitInItsMidst, LosesNothingAndRevivesNothing) {
  for (int i = 0; i < 11'000; ++i) Put(KeyOf(i), "v");
  Begin();
  for (int i = 0; i < GetParam(); ++i) pass_.Step(tick_, nullptr);
  ASSERT_TRUE(pass_.active());
  const bool handing_on = pass_.figures().puts != 0;
  for (int i = 0; i < 600; ++i) {
    if (i % 4 == 0) Put(KeyOf(i), "changed");
    if (i % 4 == 1) Remove(KeyOf(i));
    if (i % 4 == 2) Remove(KeyOf(i)), Put(KeyOf(i), "back");
  }
  BeginSplit();
  for (int i = 0; i < 200; ++i) Put("new " + KeyOf(i), "v");
  EndSplit();
  EXPECT_EQ(store_.layers(), handing_on ? 1 : 0);
  for (int i = 0; i < 100; ++i) Remove("new " + KeyOf(i));
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(shadow_.records(), contents_.size());
  Snapshot();
  EXPECT_EQ(pass_.figures().puts + pass_.figures().deletes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Steps, SplitInItsMidst,
                         testing::Values(1, 2, 10, 20, 23, 24, 25, 26, 30, 35, 40));

// Words that recur.

TEST_F(SnapshotPassTest, AMarkNotesWhatChangedAlthoughTheWordComesBack) {
  Put("a", "1");
  Put("b", "1");
  Snapshot();
  const uint64_t slot = SlotOf("a");
  const uint64_t word = LoadWord(At(slot));
  Link(slot, SlotWord::Make(8, 1, SlotWord(word).fingerprint(), 1).raw());
  Mark();
  Link(slot, word);
  Snapshot();
  EXPECT_EQ(pass_.figures().puts, 1u);
  EXPECT_EQ(store_.Committed(), contents_);
}

TEST_F(SnapshotPassTest, WithoutACompareForTooLongEverythingIsReadAgain) {
  for (int i = 0; i < 10; ++i) Put(KeyOf(i), "v");
  Snapshot();
  tick_ += 256 * kGrace;
  Snapshot();
  EXPECT_EQ(pass_.figures().puts, 0u);
  tick_ += 256 * kGrace + 1;
  Snapshot();
  EXPECT_EQ(pass_.figures().puts, 10u);
  tick_ += 200 * kGrace;
  Mark();
  tick_ += 200 * kGrace;
  Snapshot();
  EXPECT_EQ(pass_.figures().puts, 0u);
}

TEST_F(SnapshotPassTest, AMarkLeavesWhatAFailedPassOwes) {
  Put("a", "1");
  Snapshot();
  Remove("a");
  Put("b", "1");
  Begin();
  Walk();  // no commit
  Mark();
  Mark();
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
}

// Twins: two keys of one tag.

std::pair<std::string, std::string> FindTwins(uint64_t seed) {
  std::map<uint64_t, uint64_t> seen;
  std::vector<std::pair<uint64_t, uint32_t>> tags;
  constexpr uint32_t kKeys = 6'000'000;
  tags.reserve(kKeys);
  for (uint32_t i = 0; i < kKeys; ++i) {
    tags.emplace_back(SnapshotTag(HashKey(AsBytes(KeyOf(i)), seed)), i);
  }
  std::sort(tags.begin(), tags.end());
  const auto same = std::adjacent_find(
      tags.begin(), tags.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == tags.end()) return {};
  return {KeyOf(same->second), KeyOf((same + 1)->second)};
}

TEST_F(SnapshotPassTest, TwinsShareAnEntryAndNeitherIsLost) {
  const auto [one, other] = FindTwins(plan_.hash_seed);
  ASSERT_FALSE(one.empty()) << "take more keys";
  Put(one, "1");
  Snapshot();
  Put(other, "2");
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(store_.entries(), 1u);
  Put(one, "3");
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_) << "the other did not change";
  EXPECT_EQ(shadow_.records(), 2u);
  Remove(one);
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  Remove(other);
  Snapshot();
  EXPECT_EQ(store_.entries(), 0u);
}

TEST_F(SnapshotPassTest, TwinsAndAKeyMetTwiceAmongManySmallRecords) {
  const auto [one, other] = FindTwins(plan_.hash_seed);
  ASSERT_FALSE(one.empty()) << "take more keys";
  for (int i = 0; i < 4000; ++i) Put("beside " + KeyOf(i), "v");
  Put(one, "1");
  Put(other, "22");
  Put("a", "333");
  uint64_t free = 0;
  for (uint64_t bucket : Where("a").bucket) {
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      const uint64_t at = geometry_.SlotAddress(bucket, s);
      if (LoadWord(At(at)) == 0) free = at;
    }
  }
  ASSERT_NE(free, 0u);
  Link(free, LoadWord(At(SlotOf("a"))));
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_EQ(store_.entries(), contents_.size() - 1);
  EXPECT_EQ(shadow_.records(), contents_.size());
}

// Between the look at its head and its copy.
TEST_F(SnapshotPassTest, AKeyMetInTwoSlotsIsWrittenOnce) {
  Put("a", "1");
  Begin();
  while (pass_.figures().records == 0 && pass_.active()) {
    // Somebody removes it and puts it again elsewhere, between any two steps.
    const uint64_t slot = SlotOf("a");
    const uint64_t word = LoadWord(At(slot));
    uint64_t free = 0;
    for (uint64_t bucket : Where("a").bucket) {
      for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
        const uint64_t at = geometry_.SlotAddress(bucket, s);
        if (LoadWord(At(at)) == 0) free = at;
      }
    }
    // Both at once, as a walk may see it.
    if (pass_.figures().subtables == 0) Link(free, word);
    pass_.Step(tick_, nullptr);
  }
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), contents_);
}

TEST_F(SnapshotPassTest, AKeyThatTakesASlotBeforeItsCopyWaitsForTheNextPass) {
  // Small ones are copied with their heads.
  Put("a", std::string(600, '1'));
  std::string other;
  for (int i = 0; other.empty(); ++i) {
    if (Where(KeyOf(i)).bucket[0] == SlotOf("a") / kBucketBytes * kBucketBytes) other = KeyOf(i);
  }
  Begin();
  pass_.Step(tick_, nullptr);
  pass_.Step(tick_, nullptr);
  ASSERT_EQ(pass_.figures().puts, 0u);
  const uint64_t slot = SlotOf("a");
  Remove("a");
  Link(slot, NewRecord(other, "2", 0).raw());
  contents_[other] = "2";
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), Contents());
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
}

// Large records, and reuse.

TEST_F(SnapshotPassTest, ALargeRecordIsCopiedInPiecesAndNotReusedMeanwhile) {
  const std::string large(900'000, 'x');
  Put("large", large);
  Begin();
  while (pass_.pinned_tick() == 0) ASSERT_TRUE(pass_.Step(tick_, nullptr));
  Remove("large");
  contents_["large"] = large;  // it was current when its copy began
  EndGrace();
  EXPECT_EQ(allocator_.blocks_in_grace(), 1u) << "held back";
  Walk();
  Commit();
  EXPECT_EQ(store_.Committed(), contents_);
  EndGrace();
  EXPECT_EQ(allocator_.blocks_in_grace(), 0u);
  contents_.erase("large");
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
}

TEST_F(SnapshotPassTest, DamagedRecordsAreLeftOutAndCounted) {
  Put("good", "1");
  Put("torn", "a value that is long enough");
  Put("of another generation", "1");
  Put("large and torn", std::string(500'000, 'x'));
  const auto damage = [&](const std::string& key, uint64_t at) {
    std::byte* record = base_.get() + geometry_.RecordAddress(SlotWord(LoadWord(At(SlotOf(key)))));
    record[at] ^= std::byte{1};
    contents_.erase(key);
  };
  damage("torn", 40);
  damage("large and torn", 400'000);
  damage("of another generation", 0);
  Link(geometry_.SlotAddress(plan_.index_offset, 3), ~uint64_t{0});  // no word of a client
  Snapshot();
  EXPECT_EQ(store_.Committed(), contents_);
  EXPECT_GE(pass_.figures().damaged, 4u);
}

// Everything at random, against what was there.
TEST_F(SnapshotPassTest, WhateverHappensEachValueWasCurrentAndNothingOlderIsMissing) {
  Random random(5);
  constexpr uint64_t kKeys = 400;
  std::map<std::string, std::set<std::string>> during;  // values since the pass began; "": absent
  uint64_t value = 0;
  const auto remember = [&](const std::string& key) {
    const auto found = contents_.find(key);
    during[key].insert(found == contents_.end() ? "" : found->second);
  };
  const auto change = [&] {
    const std::string key = KeyOf(random.Below(kKeys));
    if (random.OneIn(3)) {
      Remove(key);
    } else {
      Put(key, std::to_string(++value) + std::string(random.Below(200), '.'));
    }
    remember(key);
    if (random.OneIn(50)) EndGrace();
  };
  bool full = false;
  for (int round = 0; round < 400; ++round) {
    during.clear();
    for (uint64_t k = 0; k < kKeys; ++k) remember(KeyOf(k));
    full = full || random.OneIn(40);
    Begin(full ? SnapshotPass::Kind::kFull : SnapshotPass::Kind::kWrite);
    if (random.OneIn(3)) store_.set_room(static_cast<int>(random.Below(2)));
    for (int i = 0; i < 1000 && pass_.active(); ++i) {
      if (random.OneIn(2)) change();
      if (!pass_.Step(tick_, grower_.splitting())) store_.set_room(-1);
      if (random.OneIn(200) && index_.subtables() < 8 && grower_.splitting() == nullptr) {
        BeginSplit();
      }
      if (grower_.splitting() != nullptr && random.OneIn(2)) EndSplit();
    }
    EndSplit();
    store_.set_room(-1);
    if (random.OneIn(4)) {
      pass_.Drop();
      continue;
    }
    Walk();
    if (random.OneIn(4)) continue;  // not committed
    Commit();
    full = false;
    const Contents got = store_.Committed();
    for (uint64_t k = 0; k < kKeys; ++k) {
      const auto found = got.find(KeyOf(k));
      const std::string is = found == got.end() ? "" : found->second;
      ASSERT_TRUE(during[KeyOf(k)].contains(is)) << "round " << round << ", " << KeyOf(k) << ": '"
                                                 << is << "' was not current in the pass";
    }
    ASSERT_EQ(shadow_.records(), got.size());
    if (random.OneIn(3)) Mark();
  }
  EXPECT_GT(index_.subtables(), 1u);
}

}  // namespace
}  // namespace dunlin
