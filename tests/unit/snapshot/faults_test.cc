// Every step on the disk fails, in every way: what was committed is still there, and what is there
// is what one pass saw.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/environment.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/power_loss_file_system.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/snapshot/contents_testing.h"
#include "tests/unit/snapshot/sequence_testing.h"

namespace dunlin {
namespace {

using testing::FaultyFileSystem;
using testing::FileFault;
using testing::FileStep;
using testing::PowerLossFileSystem;
using testing::RunPasses;
using testing::Sequence;
using testing::StepMask;
using testing::WhatIsWrong;

constexpr uint64_t kPasses = 4;

// A directory on a disk that can be made to fail.
struct Disk {
  explicit Disk(const std::string& root) : root(root) {
    std::filesystem::create_directory(root);
    power = std::make_shared<PowerLossFileSystem>(root);
    fs = std::make_shared<FaultyFileSystem>(power);
  }
  ~Disk() { std::filesystem::remove_all(root); }

  const std::string root;
  const std::string dir = root + "/snapshots";
  std::shared_ptr<PowerLossFileSystem> power;  // syncs nothing in earnest, so it is fast
  std::shared_ptr<FaultyFileSystem> fs;
};

class SnapshotFaultsTest : public ::testing::Test {
 protected:
  // Steps of the kinds in `steps` that a run without faults takes, counted from the second run on
  // the directory if `again`.
  uint64_t CountSteps(uint32_t steps, bool again) {
    Disk disk(folder_.path() + "/count");
    if (again) RunPasses(disk.dir, disk.fs, kPasses);
    disk.fs->Inject({.steps = steps});
    const Sequence run = RunPasses(disk.dir, disk.fs, kPasses);
    EXPECT_TRUE(run.opened.ok()) << run.opened;
    EXPECT_EQ(run.failed, 0u) << run.last;
    return disk.fs->steps();
  }

  // Calls `run` with some of the numbers from 1 to `steps`, or with all if the environment asks for
  // as many.
  template <typename Run>
  void ForSteps(uint64_t steps, uint64_t otherwise, Run run) {
    ASSERT_GT(steps, 0u);
    const uint64_t rounds =
        std::min(testing::NumberFromEnvironment("TEST_ROUNDS", otherwise), steps);
    for (uint64_t i = 0; i < rounds && !HasFailure(); ++i) {
      const uint64_t at = 1 + i * steps / rounds;
      SCOPED_TRACE("step " + std::to_string(at) + " of " + std::to_string(steps));
      run(at);
    }
  }

  void FailOnce(FileFault fault, bool again, uint64_t rounds = 12) {
    ForSteps(CountSteps(fault.steps, again), rounds, [&](uint64_t at) {
      Disk disk(folder_.path() + "/disk");
      uint64_t committed = 0;
      if (again) committed = RunPasses(disk.dir, disk.fs, kPasses).committed;
      fault.at = at;
      disk.fs->Inject(fault);
      Sequence run = RunPasses(disk.dir, disk.fs, kPasses);
      EXPECT_LE(run.failed, 1u) << "one fault, one pass";
      if (!run.opened.ok()) {
        EXPECT_TRUE(disk.fs->struck()) << run.opened;
        run = RunPasses(disk.dir, disk.fs, kPasses);
      }
      EXPECT_TRUE(run.opened.ok()) << run.opened;
      committed = std::max(committed, run.committed);
      EXPECT_GE(committed, kPasses - 1);
      EXPECT_EQ(WhatIsWrong(disk.dir, committed), "");
      GoOn(disk, committed);
    });
  }

  // From some step on nothing works, until the disk has been changed.
  void FailForGood(FileFault fault) {
    fault.lasting = true;
    ForSteps(CountSteps(fault.steps, true), 12, [&](uint64_t at) {
      Disk disk(folder_.path() + "/disk");
      uint64_t committed = RunPasses(disk.dir, disk.fs, kPasses).committed;
      fault.at = at;
      disk.fs->Inject(fault);
      const Sequence run = RunPasses(disk.dir, disk.fs, kPasses);
      committed = std::max(committed, run.committed);
      EXPECT_EQ(WhatIsWrong(disk.dir, committed), "");
      GoOn(disk, committed);
    });
  }

  void GoOn(Disk& disk, uint64_t committed) {
    disk.fs->Heal();
    const Sequence run = RunPasses(disk.dir, disk.fs, 2);
    EXPECT_TRUE(run.opened.ok()) << run.opened;
    EXPECT_EQ(run.failed, 0u) << run.last;
    EXPECT_GT(run.committed, committed);
    EXPECT_EQ(WhatIsWrong(disk.dir, run.committed), "");
  }

  testing::TemporaryFolder folder_{testing::MemoryFolder()};
};

TEST_F(SnapshotFaultsTest, AnyStepFailsOnce) {
  FailOnce({.kind = FileFault::Kind::kIoError}, false);
}

TEST_F(SnapshotFaultsTest, AnyStepOnAnOldDirectoryFailsOnce) {
  FailOnce({.kind = FileFault::Kind::kIoError}, true);
}

TEST_F(SnapshotFaultsTest, AnyStepFailsForGood) {
  FailForGood({.kind = FileFault::Kind::kIoError});
}

TEST_F(SnapshotFaultsTest, WritesAreCutShort) {
  FailOnce({.kind = FileFault::Kind::kShortWrite, .steps = StepMask({FileStep::kAppend})}, true);
}

// All of them: what RocksDB reads of a table that it takes in has to be there (LiveDatabase).
TEST_F(SnapshotFaultsTest, ReadsFail) {
  FailOnce({.kind = FileFault::Kind::kIoError, .steps = StepMask({FileStep::kRead})}, false, 500);
}

TEST_F(SnapshotFaultsTest, SyncsFail) {
  const uint32_t steps = StepMask({FileStep::kSync, FileStep::kSyncFolder});
  FailOnce({.kind = FileFault::Kind::kIoError, .steps = steps}, true);
  FailForGood({.kind = FileFault::Kind::kIoError, .steps = steps});
}

TEST_F(SnapshotFaultsTest, RenamesFail) {
  const uint32_t steps = StepMask({FileStep::kRename});
  FailOnce({.kind = FileFault::Kind::kIoError, .steps = steps}, true);
  FailForGood({.kind = FileFault::Kind::kIoError, .steps = steps});
}

TEST_F(SnapshotFaultsTest, TheDiskIsFull) {
  const uint32_t steps =
      StepMask({FileStep::kAppend, FileStep::kCreate, FileStep::kLink, FileStep::kMakeFolder});
  FailOnce({.kind = FileFault::Kind::kNoSpace, .steps = steps}, true);
  FailForGood({.kind = FileFault::Kind::kNoSpace, .steps = steps});
}

TEST_F(SnapshotFaultsTest, AFullDiskSaysSo) {
  Disk disk(folder_.path() + "/disk");
  ASSERT_TRUE(RunPasses(disk.dir, disk.fs, 1).opened.ok());
  disk.fs->Inject({.kind = FileFault::Kind::kNoSpace,
                   .steps = StepMask({FileStep::kAppend}),
                   .at = 40,
                   .lasting = true});
  const Sequence run = RunPasses(disk.dir, disk.fs, kPasses);
  ASSERT_TRUE(disk.fs->struck());
  EXPECT_TRUE(absl::IsResourceExhausted(run.last)) << run.last;
}

// Now and then something fails, mostly in the background, where tables are merged all the time.
TEST_F(SnapshotFaultsTest, MergingFails) {
  Disk disk(folder_.path() + "/disk");
  SnapshotStore::Options options = testing::TestOptions(disk.dir, disk.fs);
  options.table_bytes = 4 << 10;
  auto store = SnapshotStore::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  testing::Contents base = testing::ContentsOfPass(1);
  ASSERT_TRUE(testing::MakeSnapshot(**store, nullptr, base).ok());
  uint64_t committed = 1;
  uint64_t failed = 0;
  for (uint64_t pass = 2; pass <= 60; ++pass) {
    if (pass % 4 == 0) disk.fs->Inject({.at = 40 + pass * 7 % 150});
    testing::Contents next = testing::ContentsOfPass(pass);
    const auto info = testing::MakeSnapshot(**store, &base, next);
    failed += !info.ok();
    if (!info.ok()) continue;
    base = std::move(next);
    committed = pass;
    (*store)->Retain().IgnoreError();
    if (pass % 5 == 0) {
      ASSERT_EQ(WhatIsWrong(disk.dir, committed), "") << pass;
    }
  }
  EXPECT_GT(failed, 0u);
  EXPECT_GT(committed, 50u);
  EXPECT_EQ(WhatIsWrong(disk.dir, committed), "");
  store->reset();
  EXPECT_EQ(WhatIsWrong(disk.dir, committed), "");
}

// The last step of all, when the snapshot has its name already: nobody must find what Commit said
// is not there, and the pass after that must not be based on it.
TEST_F(SnapshotFaultsTest, AFailedCommitLeavesNoSnapshot) {
  Disk disk(folder_.path() + "/disk");
  auto store = SnapshotStore::Open(testing::TestOptions(disk.dir, disk.fs));
  ASSERT_TRUE(store.ok()) << store.status();
  const testing::Contents first = testing::ContentsOfPass(1);
  const testing::Contents second = testing::ContentsOfPass(2);
  ASSERT_TRUE(testing::MakeSnapshot(**store, nullptr, first).ok());
  const uint32_t steps = StepMask({FileStep::kSyncFolder});
  disk.fs->Inject({.steps = steps});
  ASSERT_TRUE(testing::MakeSnapshot(**store, &first, second).ok());
  disk.fs->Inject({.steps = steps, .at = disk.fs->steps()});
  EXPECT_FALSE(testing::MakeSnapshot(**store, &second, testing::ContentsOfPass(3)).ok());
  EXPECT_TRUE(disk.fs->struck());
  auto listing = (*store)->List();
  ASSERT_TRUE(listing.ok()) << listing.status();
  ASSERT_EQ(listing->snapshots.size(), 2u);
  EXPECT_EQ(listing->NewestUsable()->id, 2u);
  const auto info = testing::MakeSnapshot(**store, &second, testing::ContentsOfPass(4));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->previous, 2u);
  EXPECT_EQ(WhatIsWrong(disk.dir, 4), "");
}

TEST_F(SnapshotFaultsTest, ThePowerFailsAtAnyStep) {
  using Unsynced = PowerLossFileSystem::Unsynced;
  ForSteps(CountSteps(testing::kAllSteps, true), 60, [&](uint64_t at) {
    Disk disk(folder_.path() + "/disk");
    uint64_t committed = 0;
    // From an empty directory for every other step, and for the rest on one in which something is.
    if (at % 2 == 0) committed = RunPasses(disk.dir, disk.fs, kPasses).committed;
    disk.fs->Inject({.at = at, .lasting = true});
    committed = std::max(committed, RunPasses(disk.dir, disk.fs, kPasses).committed);
    disk.power->LosePower(static_cast<Unsynced>(at / 2 % 3), at);
    EXPECT_EQ(WhatIsWrong(disk.dir, committed), "");
    GoOn(disk, committed);
  });
}

}  // namespace
}  // namespace dunlin
