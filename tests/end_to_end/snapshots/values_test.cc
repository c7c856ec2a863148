#include <gtest/gtest.h>

#include <string>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"
#include "tests/support/stamped_value.h"

// Values of all sizes, and caches.

namespace dunlin::testing {
namespace {

class ValuesTest : public SnapshotFixture {};

TEST_F(ValuesTest, LargeOnes) {
  StartOn({}, "256MiB");
  Records records;
  for (const size_t bytes : {size_t{20} << 20, (size_t{20} << 20) - 1, size_t{5} << 20,
                             size_t{1} << 20, size_t{100'000}, size_t{33'000}}) {
    const std::string key = "large " + std::to_string(bytes);
    Put(&records, key, StampedValue(key, bytes, bytes));
  }
  Create();
  // In place of one that a snapshot has.
  Put(&records, "large 1048576", StampedValue("large 1048576", 2, size_t{7} << 20));
  Create();
  Crash({}, "256MiB");
  ExpectThere(records);
}

TEST_F(ValuesTest, ACacheHasWhatItHadOrLess) {
  const std::vector<std::string> cache = {"--mode", "cache",     "--grace",
                                          "100ms",  "--records", "20000"};
  StartOn(cache, "32MiB");
  for (uint64_t i = 0; i < 8000; ++i) {
    const std::string key = "key" + std::to_string(i % 6000);
    const auto put = session_->Put(key, StampedValue(key, i, 1000 + i % 8000),
                                   {.deadline = Milliseconds(30'000)});
    ASSERT_TRUE(put.ok()) << put.status();
    if (i % 2000 == 1999) Create();
  }
  const SnapshotSummary last = Create();
  Crash(cache, "32MiB");
  const Records found = Scan();
  EXPECT_LE(found.size(), last.records);
  EXPECT_GT(found.size(), 100u);
  for (const auto& [key, record] : found) {
    const auto stamp = StampOf(key, record.value);
    ASSERT_TRUE(stamp.has_value()) << key;
    // The last that was put for this key.
    const uint64_t n = std::stoull(key.substr(3));
    EXPECT_EQ(*stamp, n < 2000 ? n + 6000 : n) << key;
  }
  // Also into less memory: a cache takes what there is room for.
  Crash(cache, "24MiB");
  EXPECT_GT(Scan().size(), 100u);
}

}  // namespace
}  // namespace dunlin::testing
