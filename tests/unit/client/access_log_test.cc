#include "client/session/access_log.h"

#include <gtest/gtest.h>

#include <set>

namespace dunlin {
namespace {

SlotWord Word(uint64_t n) { return SlotWord::Make(n * 64, 5, 0, 1); }

TEST(AccessLog, WithoutAnAreaItIsOff) {
  AccessLog log;
  EXPECT_FALSE(log.on());
  log.Begin({}, 3);
  EXPECT_FALSE(log.on());
  log.Begin({4096, 2}, 3);
  EXPECT_TRUE(log.on());
}

TEST(AccessLog, AStripIsFullAfter64UsesAtTheEarliest) {
  AccessLog log;
  log.Begin({4096, 4}, 0);
  uint64_t uses = 0;
  uint64_t strips = 0;
  for (uint64_t n = 0; n < 100'000; ++n) {
    ++uses;
    if (!log.Note(Word(n % 5000), n / 100)) continue;
    EXPECT_GE(uses, 64u);
    uses = 0;
    const AccessStrip& strip = log.Take();
    EXPECT_EQ(strip.number, ++strips);
    EXPECT_EQ(log.address(), 4096 + strips % 4 * kStripBytes);
    std::set<uint64_t> told(std::begin(strip.words), std::end(strip.words));
    EXPECT_EQ(told.size(), std::size(strip.words));
  }
  EXPECT_GT(strips, 100u);
}

TEST(AccessLog, OneRecordIsToldOnceInHalfASecond) {
  AccessLog log;
  log.Begin({4096, 4}, 0);
  int strips = 0;
  for (uint64_t n = 0; n < 100'000; ++n) strips += log.Note(Word(1), 600 + n % 100) ? 1 : 0;
  EXPECT_EQ(strips, 0) << "a hot record would fill them all";
  for (uint64_t tick = 512; tick < 512 * 200; tick += 512) {
    if (log.Note(Word(1), tick)) {
      ++strips;
      log.Take();
    }
  }
  EXPECT_GE(strips, 2) << "but it is told again";
}

}  // namespace
}  // namespace dunlin
