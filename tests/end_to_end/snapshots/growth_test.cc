#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"
#include "tests/support/stamped_value.h"

namespace dunlin::testing {
namespace {

class GrowthTest : public SnapshotFixture {};

// The index is split under the walks that snapshots are made by.
TEST_F(GrowthTest, SnapshotsBackToBackWhileTheIndexGrows) {
  StartOn({"--records", "100", "--snapshot-keep", "1"}, "128MiB");
  std::atomic<bool> done = false;
  std::atomic<int> made = 0;
  std::thread snapshots([&] {
    while (!done) {
      const auto one = client_->CreateSnapshot(Milliseconds(60'000));
      EXPECT_TRUE(one.ok()) << one.status();
      if (!one.ok()) return;
      ++made;
    }
  });
  constexpr uint64_t kFewest = 20'000, kMost = 400'000;
  Records records;
  for (uint64_t i = 0; (i < kFewest || (i < kMost && made < 10)) && !HasFatalFailure(); ++i) {
    const std::string key = "key" + std::to_string(i);
    Put(&records, key, StampedValue(key, i, 40));
    if (i % 3 != 0) continue;
    const std::string other = "key" + std::to_string(i / 2);
    if (i % 2 == 0) {
      Put(&records, other, StampedValue(other, i, 60));
    } else if (session_->Remove(other).ok()) {
      records.erase(other);
    }
  }
  done = true;
  snapshots.join();
  EXPECT_GT(made, 0);
  const auto status = client_->Status();
  ASSERT_TRUE(status.ok());
  EXPECT_GT(status->splits, 0u);
  EXPECT_EQ(Create().records, records.size());
  const std::vector<std::string> arguments = {"--records", "100"};
  Crash(arguments, "128MiB");
  ExpectThere(records);
  EXPECT_EQ(Scan().size(), records.size());
}

}  // namespace
}  // namespace dunlin::testing
