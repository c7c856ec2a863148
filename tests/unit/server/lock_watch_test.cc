#include "server/lock_watch.h"

#include <gtest/gtest.h>

#include <set>

namespace dunlin {
namespace {

constexpr uint64_t kPatience = 1000;
const BucketHeader kFree = BucketHeader::Free(3, 5);

TEST(LockWatch, OneThatIsStillHeldAfterThePatienceIsOverdue) {
  LockWatch watch(kPatience);
  const BucketHeader held = kFree.HeldBy(9, 4);
  for (uint64_t tick = 50; tick < 1050; tick += 20) {
    ASSERT_EQ(watch.Seen(128, held, tick), std::nullopt) << tick;
  }
  EXPECT_EQ(watch.Seen(128, held, 1050), 9u);
  EXPECT_EQ(watch.Seen(128, held, 1060), 9u);
}

TEST(LockWatch, AnotherTurnWithTheLockBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 900), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 5), 1100), std::nullopt) << "another operation";
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(8, 5), 1900), std::nullopt) << "another session";
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(8, 5), 2899), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(8, 5), 2900), 8u);
}

TEST(LockWatch, LocksAreWatchedApart) {
  LockWatch watch(kPatience);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1), std::nullopt);
  EXPECT_EQ(watch.Seen(256, kFree.HeldBy(9, 4), 500), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1001), 9u);
  EXPECT_EQ(watch.Seen(256, kFree.HeldBy(9, 4), 1001), std::nullopt);
}

TEST(LockWatch, WhatWasForgottenBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1), std::nullopt);
  watch.Forget(128);
  watch.Forget(256);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1001), std::nullopt);
}

// Nobody asked for a while: the numbers of operations may have come round.
TEST(LockWatch, APauseInTheAskingBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 5000), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 6000), 9u);
}

// Whoever asks about very many locks can't have one forgotten that is asked about all the time
// without having it begin anew for good: what is old goes first.
TEST(LockWatch, ManySightsDropTheOldFirst) {
  LockWatch watch(kPatience);
  for (uint64_t lock = 1; lock <= 20'000; ++lock) {
    watch.Seen(1'000'000 + lock * 128, kFree.HeldBy(7, 1), 1);
  }
  EXPECT_EQ(watch.Seen(128 * 50'000, kFree.HeldBy(9, 4), 1500), std::nullopt);
  for (uint64_t lock = 1; lock <= 4000; ++lock) {
    watch.Seen(50'000'000 + lock * 128, kFree.HeldBy(7, 1), 1600);
  }
  EXPECT_EQ(watch.Seen(128 * 50'000, kFree.HeldBy(9, 4), 2500), 9u);
}

}  // namespace
}  // namespace dunlin
