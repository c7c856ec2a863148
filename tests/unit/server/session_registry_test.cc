#include "server/session_registry.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

// A lock may bear the id of a session that is no more, until a whole walk has released it.
TEST(SessionRegistry, IdsAreUsedAgainAfterAWholeWalk) {
  SessionRegistry registry(3, 3);
  registry.NoteWalks(7);
  uint32_t first = (*registry.Add())->id;
  EXPECT_EQ(first, 1u);
  registry.Remove(first);
  EXPECT_FALSE(registry.Lives(first));
  EXPECT_EQ((*registry.Add())->id, 2u);
  EXPECT_EQ((*registry.Add())->id, 3u);
  registry.NoteWalks(8);
  auto none = registry.Add();
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted)
      << "the walk under way at its end may have been past a lock of its";
  EXPECT_NE(none.status().message().find("used lately"), absl::string_view::npos);
  registry.NoteWalks(9);
  auto again = registry.Add();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->id, 1u);
  EXPECT_TRUE(registry.Lives(1));
}

TEST(SessionRegistry, WhoHoldsALockThatMayBeGivenBack) {
  SessionRegistry registry(4);
  SessionEntry* session = *registry.Add();
  EXPECT_TRUE(registry.Lives(session->id));
  session->state = SessionEntry::State::kLost;
  EXPECT_TRUE(registry.Lives(session->id)) << "its process may go on";
  session->state = SessionEntry::State::kFenced;
  EXPECT_FALSE(registry.Lives(session->id));
  EXPECT_FALSE(registry.Lives(0));
  EXPECT_FALSE(registry.Lives(99));
  EXPECT_EQ(registry.FindFrom(0), session);
  EXPECT_EQ(registry.FindFrom(session->id), session);
  EXPECT_EQ(registry.FindFrom(session->id + 1), nullptr);
}

TEST(SessionRegistry, WordsAreDistinctAmongTheLivingAndUsedAgain) {
  SessionRegistry registry(2);
  SessionEntry* a = *registry.Add();
  SessionEntry* b = *registry.Add();
  EXPECT_NE(a->word, b->word);
  EXPECT_LT(a->word, 2u);
  EXPECT_LT(b->word, 2u);
  a->state = SessionEntry::State::kLost;
  auto none = registry.Add();
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(none.status().message().find("of them 1 by processes"), absl::string_view::npos);
  uint32_t word = a->word;
  registry.Remove(a->id);
  EXPECT_EQ((*registry.Add())->word, word);
}

TEST(SessionRegistry, FindsByIdAndCountsByState) {
  SessionRegistry registry(4);
  SessionEntry* a = *registry.Add();
  SessionEntry* b = *registry.Add();
  b->state = SessionEntry::State::kFenced;
  EXPECT_EQ(registry.Find(a->id), a);
  EXPECT_EQ(registry.Find(99), nullptr);
  EXPECT_EQ(registry.Count(SessionEntry::State::kOpen), 1u);
  EXPECT_EQ(registry.Count(SessionEntry::State::kFenced), 1u);
}

}  // namespace
}  // namespace dunlin
