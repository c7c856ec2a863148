#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "bench/kvbench/generators/acknowledged_counter.h"

namespace dunlin::kvbench {
namespace {

TEST(AcknowledgedCounter, TheLastIsTheEndOfWhatHasNoGap) {
  AcknowledgedCounter counter(1000);
  EXPECT_EQ(counter.Last(), 999);
  EXPECT_EQ(counter.Next(), 1000);
  EXPECT_EQ(counter.Next(), 1001);
  EXPECT_EQ(counter.Next(), 1002);
  EXPECT_TRUE(counter.Acknowledge(1001));
  EXPECT_EQ(counter.Last(), 999);
  EXPECT_TRUE(counter.Acknowledge(1000));
  EXPECT_EQ(counter.Last(), 1001);
  EXPECT_TRUE(counter.Acknowledge(1002));
  EXPECT_EQ(counter.Last(), 1002);
}

TEST(AcknowledgedCounter, RefusesWhatIsTooFarAhead) {
  AcknowledgedCounter counter(0);
  const auto window = static_cast<int64_t>(AcknowledgedCounter::kWindow);
  for (int64_t i = 0; i <= window; ++i) counter.Next();
  for (int64_t i = 1; i < window; ++i) ASSERT_TRUE(counter.Acknowledge(i));
  EXPECT_FALSE(counter.Acknowledge(window));
  EXPECT_EQ(counter.Last(), -1);
  EXPECT_TRUE(counter.Acknowledge(0));
  EXPECT_EQ(counter.Last(), window - 1);
  EXPECT_TRUE(counter.Acknowledge(window));
  EXPECT_EQ(counter.Last(), window);
}

// Several times round the window, from several threads: none is lost.
TEST(AcknowledgedCounter, ManyThreads) {
  AcknowledgedCounter counter(0);
  constexpr int64_t kEach = 700'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      int64_t last = -1;
      for (int64_t i = 0; i < kEach; ++i) {
        const int64_t number = counter.Next();
        const int64_t seen = counter.Last();
        EXPECT_LT(seen, number);
        EXPECT_GE(seen, last);
        last = seen;
        while (!counter.Acknowledge(number)) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.Last(), 4 * kEach - 1);
}

}  // namespace
}  // namespace dunlin::kvbench
