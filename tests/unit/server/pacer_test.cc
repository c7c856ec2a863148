#include "server/patrol/pacer.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

// Works in pieces of `piece` whenever it may, looking every ms of time that it does not work.
int64_t WorkFor(Pacer& pacer, int64_t* now, int64_t nanos, double share, int64_t piece) {
  const int64_t before = pacer.total();
  for (const int64_t end = *now + nanos; *now < end;) {
    if (!pacer.May(*now, share)) {
      *now += kMs;
      continue;
    }
    *now += piece;
    pacer.Spent(piece);
  }
  return pacer.total() - before;
}

TEST(Pacer, TakesItsShareAndNoMore) {
  for (double share : {0.02, 0.5}) {
    for (int64_t piece : {kMs / 10, 5 * kMs}) {
      int64_t now = 77 * kSecond;
      Pacer pacer(now);
      const int64_t worked = WorkFor(pacer, &now, 10 * kSecond, share, piece);
      EXPECT_LE(static_cast<double>(worked), share * 10e9 + static_cast<double>(piece));
      EXPECT_GE(static_cast<double>(worked), share * 10e9 * 0.9);
    }
  }
}

TEST(Pacer, ALongRestIsNotMadeUpFor) {
  int64_t now = 0;
  Pacer pacer(now);
  EXPECT_TRUE(pacer.May(3600 * kSecond, 0.02));
  now = 3600 * kSecond;
  const int64_t worked = WorkFor(pacer, &now, kSecond, 0.02, kMs / 10);
  EXPECT_LE(worked, 25 * kMs) << "20 ms of this second, and some of the moment before";
}

TEST(Pacer, WhatWasTooLongIsPaidBack) {
  Pacer pacer(0);
  EXPECT_FALSE(pacer.May(0, 0.5));
  EXPECT_TRUE(pacer.May(2 * kMs, 0.5));
  pacer.Spent(11 * kMs);
  EXPECT_FALSE(pacer.May(13 * kMs, 0.5));
  EXPECT_FALSE(pacer.May(21 * kMs, 0.5));
  EXPECT_TRUE(pacer.May(23 * kMs, 0.5));
  EXPECT_EQ(pacer.total(), 11 * kMs);
}

TEST(Pacer, AClockThatGoesBackGivesNothing) {
  Pacer pacer(10 * kMs);
  EXPECT_FALSE(pacer.May(5 * kMs, 1.0));
  EXPECT_FALSE(pacer.May(10 * kMs, 1.0));
  EXPECT_TRUE(pacer.May(11 * kMs, 1.0));
}

}  // namespace
}  // namespace dunlin
