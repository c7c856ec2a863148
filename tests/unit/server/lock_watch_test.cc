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

// Asks all the time from `from` to `to`; what the last one was told.
std::optional<uint32_t> Ask(LockWatch& watch, uint64_t address, BucketHeader word, uint64_t from,
                            uint64_t to) {
  std::optional<uint32_t> told;
  for (uint64_t tick = from; tick <= to; tick += 20) told = watch.Seen(address, word, tick);
  return told;
}

TEST(LockWatch, AnotherTurnWithTheLockBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 4), 0, 980), std::nullopt);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 5), 1000, 1980), std::nullopt) << "another operation";
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(8, 5), 2000, 2980), std::nullopt) << "another session";
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(8, 5), 3000), 8u);
}

TEST(LockWatch, LocksAreWatchedApart) {
  LockWatch watch(kPatience);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 4), 0, 480), std::nullopt);
  for (uint64_t tick = 500; tick < 1000; tick += 20) {
    EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), tick), std::nullopt);
    EXPECT_EQ(watch.Seen(256, kFree.HeldBy(9, 4), tick), std::nullopt);
  }
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1001), 9u);
  EXPECT_EQ(watch.Seen(256, kFree.HeldBy(9, 4), 1001), std::nullopt);
}

TEST(LockWatch, WhatWasForgottenBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 4), 0, 980), std::nullopt);
  watch.Forget(128);
  watch.Forget(256);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 1001), std::nullopt);
}

// Nobody asked for a while: the numbers of operations may have come round.
TEST(LockWatch, APauseInTheAskingBeginsAnew) {
  LockWatch watch(kPatience);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 4), 0, 980), std::nullopt);
  EXPECT_EQ(Ask(watch, 128, kFree.HeldBy(9, 4), 1200, 2180), std::nullopt);
  EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), 2200), 9u);
}

// A busy client in a crowd: seen now and then, and by chance under the same number.
TEST(LockWatch, AFewSightsThatAgreeProveNothing) {
  LockWatch watch(kPatience);
  for (uint64_t tick = 1; tick < 20'000; tick += 400) {
    EXPECT_EQ(watch.Seen(128, kFree.HeldBy(9, 4), tick), std::nullopt);
  }
  LockWatch slow(/*patience=*/100);
  EXPECT_EQ(slow.Seen(128, kFree.HeldBy(9, 4), 0), std::nullopt);
  EXPECT_EQ(slow.Seen(128, kFree.HeldBy(9, 4), 50), std::nullopt);
  EXPECT_EQ(slow.Seen(128, kFree.HeldBy(9, 4), 100), std::nullopt);
  EXPECT_EQ(slow.Seen(128, kFree.HeldBy(9, 4), 150), 9u);
}

TEST(LockWatch, HowLongALockWasAskedForSinceItsHolderDied) {
  LockWatch watch(kPatience);
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 4), 10), 0u);
  watch.Seen(128, kFree.HeldBy(9, 4), 10);
  watch.Seen(256, kFree.HeldBy(8, 4), 10);
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 4), 25), 15u);
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 5), 25), 0u) << "another turn";
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 4), 500), 0u) << "nobody waited in between";
  watch.OwnerLost(9, 20);
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 4), 25), 5u);
  EXPECT_EQ(watch.AskedFor(256, kFree.HeldBy(8, 4), 25), 15u) << "that one lives";
  watch.Forget(128);
  EXPECT_EQ(watch.AskedFor(128, kFree.HeldBy(9, 4), 25), 0u);
}

// Whoever asks about very many locks can't have one forgotten that is asked about all the time
// without having it begin anew for good: what is old goes first.
TEST(LockWatch, ManySightsDropTheOldFirst) {
  LockWatch watch(kPatience);
  for (uint64_t lock = 1; lock <= 20'000; ++lock) {
    watch.Seen(1'000'000 + lock * 128, kFree.HeldBy(7, 1), 1);
  }
  EXPECT_EQ(Ask(watch, 128 * 50'000, kFree.HeldBy(9, 4), 1500, 1600), std::nullopt);
  for (uint64_t lock = 1; lock <= 4000; ++lock) {
    watch.Seen(50'000'000 + lock * 128, kFree.HeldBy(7, 1), 1600);
  }
  EXPECT_EQ(Ask(watch, 128 * 50'000, kFree.HeldBy(9, 4), 1620, 2500), 9u);
}

}  // namespace
}  // namespace dunlin
