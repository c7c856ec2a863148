#include "server/snapshot/snapshot_service.h"

#include <poll.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/random.h"
#include "common/snapshot/snapshot_reader.h"
#include "server/snapshot/snapshot_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

using Contents = std::map<std::string, std::string>;
constexpr int64_t kUnixMs = 1'700'000'000'000;

class SnapshotServiceTest : public CoreFixture {
 protected:
  SnapshotServiceTest() : CoreFixture(uint64_t{8} << 20) {}

  SnapshotStore::Options StoreOptions(const std::string& dir) const {
    SnapshotStore::Options options;
    options.layout_version = layout_version_;
    options.dir = dir;
    options.new_hash_seed = kSeed;
    options.release = "1.2.3";
    return options;
  }
  // A core with snapshots in `dir`, loaded from its newest.
  void Enable(uint64_t interval = 0) {
    auto store = SnapshotStore::Open(StoreOptions(dir()));
    ASSERT_TRUE(store.ok()) << store.status();
    auto listing = (*store)->List();
    ASSERT_TRUE(listing.ok());
    const ListedSnapshot* newest = listing->NewestUsable();
    std::optional<uint64_t> base;
    if (newest != nullptr) base = newest->id;
    ASSERT_TRUE((*store)->StartFrom(base).ok());
    core_->SetWall(unix_ms_);
    core_->EnableSnapshots(std::make_unique<SnapshotWriter>(*std::move(store), &clock_),
                           {.interval = interval});
    if (!base) return;
    auto reader = SnapshotReader::Open(dir(), *base, {});
    ASSERT_TRUE(reader.ok()) << reader.status();
    loaded_ = core_->LoadSnapshot(**reader, false, {});
  }
  // Another server, with nothing but the directory.
  void Restart(bool cache = false) {
    Start({.release = "1.2.3",
           .pid = 78,
           .numa = "any node",
           .first_version = 1,
           .no_shm_because = "",
           .cache = cache,
           .endpoints = {}},
          500);
    session_ = 0;
    Enable();
  }
  std::string dir() const { return folder_.path() + "/snapshots"; }

  void Put(const std::string& key, const std::string& value, uint64_t expiry = 0) {
    if (session_ == 0) session_ = Open();
    const auto bytes = static_cast<uint32_t>(RecordBytes(key.size(), value.size(), expiry != 0));
    const auto blocks = Take(session_, bytes, 1);
    ASSERT_EQ(blocks.words.size(), 1u);
    ASSERT_TRUE(core_->Resolve(session_, blocks.reply.batch));
    Remove(key);
    ASSERT_NE(WriteAndLink(blocks.words[0], key, value, expiry), 0u);
    contents_[key] = value;
  }
  void Remove(const std::string& key) {
    const auto found = Find(key);
    if (!found) return;
    Link(found->slot, 0);
    core_->ReturnBlock(found->word);
    contents_.erase(key);
  }
  // One step of what the server's loop does.
  void Turn() {
    core_->StepSnapshots();
    pollfd told{core_->snapshots()->fd(), POLLIN, 0};
    if (poll(&told, 1, 0) > 0) core_->snapshots()->Attend(core_->tick());
  }
  absl::StatusOr<SnapshotInfo> Create() {
    const uint64_t request = core_->snapshots()->Request();
    for (;;) {
      Turn();
      auto outcome = core_->snapshots()->TakeOutcome(request);
      if (outcome) return *outcome;
    }
  }
  Contents OnDisk(uint64_t id) {
    Contents all;
    auto reader = SnapshotReader::Open(dir(), id, {});
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return all;
    const absl::Status good = (*reader)->Verify(nullptr);
    EXPECT_TRUE(good.ok()) << good;
    auto totals = (*reader)->ForEach(0, kSnapshotTagEnd, [&](uint64_t, const SnapshotRecord& r) {
      all[std::string(AsText(r.key))] = AsText(r.value);
      return absl::OkStatus();
    });
    EXPECT_TRUE(totals.ok()) << totals.status();
    return all;
  }
  control::SnapshotStatus Status() {
    control::StatusReply status;
    core_->FillStatus(status);
    return status.snapshots();
  }

  uint32_t layout_version_ = kLayoutVersion;
  int64_t unix_ms_ = kUnixMs;
  testing::TemporaryFolder folder_{testing::MemoryFolder()};
  SystemClock clock_;
  uint32_t session_ = 0;
  absl::Status loaded_;
  Contents contents_;
};

TEST_F(SnapshotServiceTest, WhatIsThereWhenItIsAskedForIsOnDiskWhenItAnswers) {
  Enable();
  for (int i = 0; i < 300; ++i) Put("key " + std::to_string(i), "value " + std::to_string(i));
  auto first = Create();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->counts.records, 300u);
  EXPECT_TRUE(first->full);
  EXPECT_EQ(OnDisk(first->id), contents_);
  const Contents then = contents_;
  Put("key 1", "changed");
  Remove("key 2");
  auto second = Create();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->changed, 1u);
  EXPECT_EQ(second->deleted, 1u);
  EXPECT_EQ(OnDisk(second->id), contents_);
  EXPECT_EQ(OnDisk(first->id), then) << "the one before stays as it was";
}

TEST_F(SnapshotServiceTest, AnotherServerGoesOnFromIt) {
  Enable();
  for (int i = 0; i < 500; ++i) Put("key " + std::to_string(i), "value " + std::to_string(i));
  Put("expiring", "soon", core_->tick() + 5000);
  Put("large", std::string(400'000, 'x'));
  ASSERT_TRUE(Create().ok());
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  for (const auto& [key, value] : contents_) EXPECT_EQ(Read(key), value) << key;
  const auto expiring = Find("expiring");
  ASSERT_TRUE(expiring);
  const auto sight = SeeRecord(RegionView(base_.get(), plan_), expiring->word, 4096);
  ASSERT_TRUE(sight);
  EXPECT_EQ(sight->expiry, core_->tick() + 5000) << "the same moment of the wall clock";
  EXPECT_EQ(pool().Audit(), "");
  Remove("key 7");
  auto next = Create();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(next->full);
  EXPECT_EQ(next->changed, 0u);
  EXPECT_EQ(next->deleted, 1u);
  EXPECT_EQ(OnDisk(next->id), contents_);
}

// What is on disk does not depend on how a region is laid out.
TEST_F(SnapshotServiceTest, ASnapshotOfAnotherLayoutLoads) {
  layout_version_ = kLayoutVersion - 1;
  Enable();
  for (int i = 0; i < 50; ++i) Put("key " + std::to_string(i), "value " + std::to_string(i));
  auto made = Create();
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->layout_version, kLayoutVersion - 1);
  layout_version_ = kLayoutVersion;
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  for (const auto& [key, value] : contents_) EXPECT_EQ(Read(key), value) << key;
  auto next = Create();
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->layout_version, kLayoutVersion);
  EXPECT_FALSE(next->full);
}

TEST_F(SnapshotServiceTest, VersionsGoOnAboveAllThatWereOnDisk) {
  Enable();
  Put("a", "1");
  auto made = Create();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->counts.highest_version, 1u);
  Restart();
  ASSERT_TRUE(loaded_.ok());
  EXPECT_GT(Take(Open(), 64, 1).reply.first_version, 1u);
}

TEST_F(SnapshotServiceTest, WhatHasExpiredInBetweenIsLeftOutAndComesOutOfTheNext) {
  Enable();
  Put("a", "1");
  Put("expired", "2", core_->tick() + 1);
  auto made = Create();
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->counts.records, 2u);
  unix_ms_ += 3'600'000;
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  EXPECT_EQ(Read("a"), "1");
  EXPECT_FALSE(Find("expired"));
  EXPECT_EQ(Status().expired_records(), 1u);
  auto next = Create();
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(OnDisk(next->id), (Contents{{"a", "1"}}));
}

TEST_F(SnapshotServiceTest, WhatDoesNotFitIsRefusedInAStoreAndCutInACache) {
  Enable();
  for (int i = 0; i < 18; ++i) Put("key " + std::to_string(i), std::string(300'000, 'x'));
  ASSERT_TRUE(Create().ok());
  plan_ = Plan(uint64_t{4} << 20, 8);
  Restart();
  EXPECT_TRUE(absl::IsResourceExhausted(loaded_)) << loaded_;
  Restart(true);
  EXPECT_TRUE(loaded_.ok()) << loaded_;
  EXPECT_GT(Status().loaded_records(), 5u);
  auto next = Create();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(next->full);
  EXPECT_EQ(next->counts.records, Status().loaded_records());
}

TEST_F(SnapshotServiceTest, WhatFilledAServerFitsIntoOneLikeIt) {
  Enable();
  session_ = Open();
  Random random(3);
  // Of all sizes, until there is no block to be had, and more of them after that.
  for (int refused = 0, i = 0; refused < 50; ++i) {
    const std::string value(random.Below(uint64_t{16} << random.Below(10)), 'x');
    const std::string key = "key " + std::to_string(i);
    const auto bytes = static_cast<uint32_t>(RecordBytes(key.size(), value.size(), false));
    const auto blocks = Take(session_, bytes, 1);
    if (blocks.words.empty()) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(core_->Resolve(session_, blocks.reply.batch));
    ASSERT_NE(WriteAndLink(blocks.words[0], key, value), 0u);
    contents_[key] = value;
  }
  ASSERT_TRUE(Create().ok());
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  for (const auto& [key, value] : contents_) ASSERT_EQ(Read(key), value) << key;
}

// Each of several threads takes some MiB of subtables after the other.
TEST_F(SnapshotServiceTest, SeveralSubtablesAreLoadedBySeveralThreads) {
  Enable();
  for (int i = 0; i < 11'000; ++i) Put("k" + std::to_string(i), std::string(300, 'v'));
  ASSERT_TRUE(Create().ok());
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  EXPECT_EQ(Status().loaded_records(), contents_.size());
  EXPECT_GE(core_->index().subtables(), 2u);
  for (const auto& [key, value] : contents_) ASSERT_EQ(Read(key), value) << key;
  Put("k1", "another");
  const auto next = Create();
  ASSERT_TRUE(next.ok()) << next.status();
  // And those for which there was no room in their buckets at first.
  EXPECT_LT(next->changed, 100u);
  EXPECT_EQ(OnDisk(next->id), contents_);
}

// What follows it is to be the newest, or the next start would bring back what was given up.
TEST_F(SnapshotServiceTest, AfterAnOlderOneTheNextIsMadeThoughNothingChanged) {
  Enable(1000);
  Put("a", "1");
  ASSERT_TRUE(Create().ok());
  SnapshotService::Base base = core_->snapshots()->base();
  base.loaded = *Create();
  base.older = true;
  core_->snapshots()->SetBase(base);
  Pass(1000);
  const uint64_t made = Status().made();
  for (int i = 0; i < 100'000 && Status().made() == made; ++i) Turn();
  EXPECT_EQ(Status().made(), made + 1);
  EXPECT_EQ(Status().unchanged(), 0u);
}

TEST_F(SnapshotServiceTest, ADirectoryThatWasRemovedIsMadeGoodFromMemory) {
  Enable();
  Put("a", "1");
  ASSERT_TRUE(Create().ok());
  Put("b", "2");
  std::filesystem::remove_all(dir());
  EXPECT_FALSE(Create().ok()) << "nobody makes the directory itself anew";
  ASSERT_TRUE(std::filesystem::create_directory(dir()));
  auto made = Create();
  for (int i = 0; i < 3 && !made.ok(); ++i) made = Create();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->full);
  EXPECT_EQ(OnDisk(made->id), contents_);
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  EXPECT_EQ(Read("b"), "2");
}

TEST_F(SnapshotServiceTest, WhatAnotherServerHoldsByNowIsLeftAlone) {
  Enable();
  Put("a", "1");
  ASSERT_TRUE(Create().ok());
  std::filesystem::rename(dir(), folder_.path() + "/old");
  std::filesystem::copy(folder_.path() + "/old", dir(), std::filesystem::copy_options::recursive);
  {
    auto other = SnapshotStore::Open(StoreOptions(dir()));
    ASSERT_TRUE(other.ok()) << other.status();
    Put("b", "2");
    EXPECT_TRUE(absl::IsFailedPrecondition(Create().status()));
  }
  EXPECT_TRUE(Create().ok()) << "it has gone";
}

TEST_F(SnapshotServiceTest, FormatIsWrittenAnew) {
  Enable();
  Put("a", "1");
  ASSERT_TRUE(Create().ok());
  ASSERT_TRUE(std::filesystem::remove(dir() + "/FORMAT"));
  ASSERT_TRUE(Create().ok());
  Restart();
  ASSERT_TRUE(loaded_.ok()) << loaded_;
  EXPECT_EQ(Read("a"), "1");
}

TEST_F(SnapshotServiceTest, AnIntervalMakesThemAndNotWhereNothingChanged) {
  Enable(1000);
  Put("a", "1");
  const auto until = [this](const auto& done) {
    for (int i = 0; i < 100'000 && !done(); ++i) Turn();
  };
  until([this] { return Status().made() == 1; });
  EXPECT_TRUE(Status().covered());
  Pass(999);
  Turn();
  EXPECT_FALSE(Status().under_way());
  Pass(1);
  until([this] { return Status().unchanged() == 1; });
  EXPECT_EQ(Status().made(), 1u);
  Put("a", "2");
  Pass(1000);
  until([this] { return Status().made() == 2; });
  EXPECT_EQ(OnDisk(Status().last_id()), contents_);
}

TEST_F(SnapshotServiceTest, ADiskThatFailsIsSaidAndTriedAgain) {
  Enable(1000);
  Put("a", "1");
  auto first = Create();
  ASSERT_TRUE(first.ok());
  Put("a", "2");
  // Nobody can make anything there: root could, so the folder goes away altogether.
  const std::string away = folder_.path() + "/away";
  ASSERT_EQ(rename(dir().c_str(), away.c_str()), 0);
  EXPECT_FALSE(Create().ok());
  EXPECT_NE(Status().trouble(), "");
  EXPECT_EQ(Status().failed(), 1u);
  EXPECT_EQ(core_->snapshots()->TakeTroubles().size(), 1u);
  EXPECT_EQ(Status().last_id(), first->id);
  ASSERT_EQ(rename(away.c_str(), dir().c_str()), 0);
  auto second = Create();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Status().trouble(), "");
  EXPECT_EQ(OnDisk(second->id), contents_);
}

TEST_F(SnapshotServiceTest, ASplitWhileRecordsAreHandedOnMakesLayers) {
  Enable();
  for (int i = 0; i < 11'000; ++i) Put("k" + std::to_string(i), "v");
  const uint64_t request = core_->snapshots()->Request();
  // Until records are handed on; then the index grows under it.
  for (int i = 0; i < 26; ++i) core_->StepSnapshots();
  const uint64_t subtables = core_->index().subtables();
  ASSERT_EQ(core_->AskGrow(0, 0), GrowOutcome::kGrows);
  for (int i = 0; i < 3000; i += 3) Remove("k" + std::to_string(i));
  Settle();
  ASSERT_GT(core_->index().subtables(), subtables);
  std::optional<absl::StatusOr<SnapshotInfo>> made;
  while (!made) {
    Turn();
    made = core_->snapshots()->TakeOutcome(request);
  }
  ASSERT_TRUE(made->ok()) << made->status();
  EXPECT_EQ(OnDisk((*made)->id), contents_);
}

TEST_F(SnapshotServiceTest, ListsAndDeletesWhatItMay) {
  Enable();
  const auto wait = [this](uint64_t request) {
    std::optional<SnapshotService::Administered> answer;
    while (!answer) {
      Turn();
      answer = core_->snapshots()->TakeAdministered(request);
    }
    return *std::move(answer);
  };
  Put("a", "1");
  ASSERT_TRUE(Create().ok());
  Put("a", "2");
  ASSERT_TRUE(Create().ok());
  auto listed = wait(core_->snapshots()->RequestList());
  ASSERT_TRUE(listed.status.ok());
  ASSERT_EQ(listed.listing.snapshots.size(), 2u);
  EXPECT_FALSE(wait(core_->snapshots()->RequestDelete(2)).status.ok()) << "the newest";
  EXPECT_TRUE(wait(core_->snapshots()->RequestDelete(1)).status.ok());
  EXPECT_EQ(wait(core_->snapshots()->RequestList()).listing.snapshots.size(), 1u);
}

}  // namespace
}  // namespace dunlin
