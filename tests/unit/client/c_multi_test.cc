#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/c/c_types.h"
#include "dunlin/dunlin.h"
#include "tests/unit/client/fake_session_testing.h"

namespace dunlin {
namespace {

class CMultiTest : public ::testing::Test {
 protected:
  CMultiTest() {
    auto fake = std::make_unique<FakeSession>();
    fake_ = fake.get();
    session_.session = std::move(fake);
  }

  dunlin_session session_;
  FakeSession* fake_;
};

TEST_F(CMultiTest, EachGetHasItsOwnResult) {
  char one[8] = {};
  char two[8] = {};
  dunlin_get_request requests[] = {
      {"a", 1, one, 8, {}}, {"absent", 6, two, 8, {}}, {"c", 1, two, 8, {}}};
  EXPECT_EQ(dunlin_multi_get(&session_, requests, 3, 12), DUNLIN_NOT_FOUND);
  EXPECT_EQ(requests[0].result.outcome, DUNLIN_OK);
  EXPECT_EQ(requests[0].result.version, 42u);
  EXPECT_EQ(requests[1].result.outcome, DUNLIN_NOT_FOUND);
  EXPECT_EQ(requests[2].result.outcome, DUNLIN_OK);
  EXPECT_STREQ(one, "value");
  EXPECT_EQ(fake_->call_options.deadline, Milliseconds(12));
  // The call before leaves nothing behind.
  EXPECT_EQ(dunlin_multi_get(&session_, requests, 1, 12), DUNLIN_OK);
}

TEST_F(CMultiTest, PutsAndRemoves) {
  dunlin_put_request puts[] = {{"a", 1, "v", 1, DUNLIN_PUT_ALWAYS, DUNLIN_UNSET, {}},
                               {"b", 1, "w", 1, DUNLIN_PUT_IF_PRESENT, 5, {}}};
  EXPECT_EQ(dunlin_multi_put(&session_, puts, 2, DUNLIN_UNSET), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "multi put");
  EXPECT_EQ(fake_->put_options.mode, PutMode::kIfPresent);
  EXPECT_EQ(fake_->put_options.ttl, Milliseconds(5));
  EXPECT_FALSE(fake_->call_options.deadline.has_value());
  EXPECT_EQ(puts[1].result.version, 43u);

  dunlin_remove_request removes[] = {{"a", 1, {}}, {"b", 1, {}}};
  fake_->write_answer = {Outcome::kNotFound, 0, 0};
  EXPECT_EQ(dunlin_multi_remove(&session_, removes, 2, DUNLIN_UNSET), DUNLIN_NOT_FOUND);
  EXPECT_EQ(removes[0].result.outcome, DUNLIN_NOT_FOUND);
}

TEST_F(CMultiTest, NothingIsBegunUnlessAllIsWellFormed) {
  dunlin_put_request puts[] = {{"a", 1, "v", 1, DUNLIN_PUT_ALWAYS, DUNLIN_UNSET, {}},
                               {"b", 1, nullptr, 1, DUNLIN_PUT_ALWAYS, DUNLIN_UNSET, {}}};
  EXPECT_EQ(dunlin_multi_put(&session_, puts, 2, -1), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(puts[0].result.outcome, DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(puts[1].result.outcome, DUNLIN_INVALID_ARGUMENT);
  puts[1] = {"b", 1, "w", 1, static_cast<dunlin_put_mode>(3), DUNLIN_UNSET, {}};
  EXPECT_EQ(dunlin_multi_put(&session_, puts, 2, -1), DUNLIN_INVALID_ARGUMENT);
  puts[1] = {"b", 1, "w", 1, DUNLIN_PUT_ALWAYS, -2, {}};
  EXPECT_EQ(dunlin_multi_put(&session_, puts, 2, -1), DUNLIN_INVALID_ARGUMENT);
  dunlin_remove_request removes[] = {{nullptr, 1, {}}};
  EXPECT_EQ(dunlin_multi_remove(&session_, removes, 1, -1), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_multi_remove(nullptr, removes, 1, -1), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_multi_get(&session_, nullptr, 1, -1), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_multi_get(&session_, nullptr, 0, -1), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "");
}

TEST_F(CMultiTest, AnExceptionEndsAllOfThem) {
  fake_->throws = true;
  dunlin_remove_request removes[] = {{"a", 1, {}}, {"b", 1, {}}};
  EXPECT_EQ(dunlin_multi_remove(&session_, removes, 2, -1), DUNLIN_INTERNAL);
  EXPECT_EQ(removes[1].result.outcome, DUNLIN_INTERNAL);
}

}  // namespace
}  // namespace dunlin
