#include "server/session_registry.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(SessionRegistry, IdsAreNeverUsedAgain) {
  SessionRegistry registry(2, 3);
  uint32_t first = (*registry.Add())->id;
  EXPECT_EQ(first, 1u);
  registry.Remove(first);
  EXPECT_EQ((*registry.Add())->id, 2u);
  EXPECT_EQ((*registry.Add())->id, 3u);
  registry.Remove(2);
  auto none = registry.Add();
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(none.status().message().find("restart the server"), absl::string_view::npos);
}

TEST(SessionRegistry, WordsAreDistinctAmongTheLivingAndUsedAgain) {
  SessionRegistry registry(2);
  ServerSession* a = *registry.Add();
  ServerSession* b = *registry.Add();
  EXPECT_NE(a->word, b->word);
  EXPECT_LT(a->word, 2u);
  EXPECT_LT(b->word, 2u);
  a->state = ServerSession::State::kLost;
  auto none = registry.Add();
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(none.status().message().find("of them 1 by processes"), absl::string_view::npos);
  uint32_t word = a->word;
  registry.Remove(a->id);
  EXPECT_EQ((*registry.Add())->word, word);
}

TEST(SessionRegistry, FindsByIdAndCountsByState) {
  SessionRegistry registry(4);
  ServerSession* a = *registry.Add();
  ServerSession* b = *registry.Add();
  b->state = ServerSession::State::kFenced;
  EXPECT_EQ(registry.Find(a->id), a);
  EXPECT_EQ(registry.Find(99), nullptr);
  EXPECT_EQ(registry.Count(ServerSession::State::kOpen), 1u);
  EXPECT_EQ(registry.Count(ServerSession::State::kFenced), 1u);
}

}  // namespace
}  // namespace dunlin
