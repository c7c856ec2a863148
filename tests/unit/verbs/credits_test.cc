#include "common/fabric/verbs/credits.h"

#include <deque>
#include <random>

#include "gtest/gtest.h"

namespace dunlin {
namespace {

TEST(CreditsTest, KeepsTheLastForGrants) {
  Credits credits(8, 4);
  EXPECT_EQ(credits.ForBytes(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(credits.Spend(), 0u);
  EXPECT_EQ(credits.ForBytes(), 0u);
  EXPECT_FALSE(credits.GrantDue());
  for (int i = 0; i < 4; ++i) credits.Reposted();
  EXPECT_TRUE(credits.GrantDue());
  EXPECT_EQ(credits.Spend(), 4u);
  EXPECT_FALSE(credits.GrantDue());
  for (int i = 0; i < 8; ++i) credits.Reposted();
  EXPECT_FALSE(credits.GrantDue()) << "there is no credit left";
}

TEST(CreditsTest, TakesNoMoreThanItSpent) {
  Credits credits(4, 4);
  EXPECT_FALSE(credits.Granted(1));
  credits.Spend();
  credits.Spend();
  EXPECT_FALSE(credits.Granted(3));
  EXPECT_FALSE(credits.Granted(UINT32_MAX));
  EXPECT_TRUE(credits.Granted(2));
  EXPECT_EQ(credits.ForBytes(), 3u);
}

// Two sides that send whenever they may, over a wire that delivers in order and whenever it likes.
class TwoSides {
 public:
  struct Message {
    uint32_t credits;
    bool bytes;
  };
  struct Side {
    Side(uint32_t own, uint32_t peer) : credits(own, peer), posted(own) {}
    Credits credits;
    uint32_t posted;           // receive buffers
    std::deque<Message> wire;  // to this side
    uint32_t unconsumed = 0;
    uint64_t received = 0;  // with bytes
  };

  TwoSides(uint32_t depth_a, uint32_t depth_b) : sides_{{depth_a, depth_b}, {depth_b, depth_a}} {}

  void SendBytes(int from) {
    if (sides_[from].credits.ForBytes() != 0) Send(from, true);
  }
  void GrantIfDue(int from) {
    if (sides_[from].credits.GrantDue()) Send(from, false);
  }
  void Deliver(int to) {
    Side& side = sides_[to];
    if (side.wire.empty()) return;
    const Message message = side.wire.front();
    side.wire.pop_front();
    ASSERT_GT(side.posted, 0u) << "a message came for which there is no receive buffer";
    --side.posted;
    ASSERT_TRUE(side.credits.Granted(message.credits));
    side.received += message.bytes;
    ++side.unconsumed;
  }
  void Consume(int at) {
    Side& side = sides_[at];
    if (side.unconsumed == 0) return;
    --side.unconsumed;
    ++side.posted;
    side.credits.Reposted();
    GrantIfDue(at);
  }
  Side& side(int i) { return sides_[i]; }

 private:
  void Send(int from, bool bytes) {
    sides_[1 - from].wire.push_back({sides_[from].credits.Spend(), bytes});
  }
  Side sides_[2];
};

TEST(CreditsTest, NoMessageIsWithoutABuffer) {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    TwoSides sides(4 + random() % 29, 4 + random() % 29);
    for (int step = 0; step < 2000; ++step) {
      const int who = static_cast<int>(random() % 2);
      switch (random() % 4) {
        case 0:
          sides.SendBytes(who);
          break;
        case 1:
          sides.Deliver(who);
          break;
        case 2:
          sides.Consume(who);
          break;
        case 3:
          sides.GrantIfDue(who);
          break;
      }
      if (HasFatalFailure()) return;
    }
  }
}

// Whatever happened before, once all is delivered and consumed both sides can send again.
TEST(CreditsTest, NobodyWaitsForever) {
  std::mt19937 random(2);
  for (int run = 0; run < 300; ++run) {
    TwoSides sides(4 + random() % 29, 4 + random() % 29);
    // One side may have sent nothing at all so far.
    const unsigned talkers = 1 + random() % 2;
    for (int step = 0; step < 500; ++step) sides.SendBytes(static_cast<int>(random() % talkers));
    for (int step = 0; step < 200; ++step) {
      for (int who : {0, 1}) {
        sides.Deliver(who);
        sides.Consume(who);
        sides.GrantIfDue(who);
      }
    }
    for (int who : {0, 1}) ASSERT_GT(sides.side(who).credits.ForBytes(), 0u) << run;
  }
}

}  // namespace
}  // namespace dunlin
