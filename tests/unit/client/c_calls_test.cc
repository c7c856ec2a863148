#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "client/c/c_types.h"
#include "dunlin/dunlin.h"
#include "tests/unit/client/fake_session_testing.h"

namespace dunlin {
namespace {

class CCallsTest : public ::testing::Test {
 protected:
  CCallsTest() {
    auto fake = std::make_unique<FakeSession>();
    fake_ = fake.get();
    session_.session = std::move(fake);
  }

  dunlin_session session_;
  FakeSession* fake_;
  dunlin_get_result got_{};
  dunlin_write_result wrote_{};
};

TEST_F(CCallsTest, GetCopiesIntoTheBuffer) {
  char buffer[8] = {};
  EXPECT_EQ(dunlin_get(&session_, "k\0y", 3, buffer, sizeof buffer, 250, &got_), DUNLIN_OK);
  EXPECT_STREQ(buffer, "value");
  EXPECT_EQ(fake_->call, "get");
  EXPECT_EQ(fake_->key, std::string("k\0y", 3));
  EXPECT_EQ(fake_->call_options.deadline, Milliseconds(250));
  EXPECT_EQ(got_.outcome, DUNLIN_OK);
  EXPECT_EQ(got_.value_bytes, 5u);
  EXPECT_EQ(got_.version, 42u);
  EXPECT_EQ(got_.ttl_left_ms, 7);
}

TEST_F(CCallsTest, WhatIsUnsetStaysUnset) {
  fake_->get_answer.ttl_left.reset();
  EXPECT_EQ(dunlin_head(&session_, "k", 1, DUNLIN_UNSET, &got_), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "head");
  EXPECT_FALSE(fake_->call_options.deadline.has_value());
  EXPECT_EQ(got_.ttl_left_ms, DUNLIN_UNSET);
  EXPECT_EQ(dunlin_head(&session_, "k", 1, 0, nullptr), DUNLIN_OK);
  EXPECT_EQ(fake_->call_options.deadline, Milliseconds(0));
}

TEST_F(CCallsTest, PinnedUntilUnpinned) {
  dunlin_pinned* pinned = nullptr;
  ASSERT_EQ(dunlin_get_pinned(&session_, "k", 1, DUNLIN_UNSET, &pinned, &got_), DUNLIN_OK);
  ASSERT_NE(pinned, nullptr);
  EXPECT_EQ(dunlin_pinned_value(pinned), fake_->stored.data());
  EXPECT_EQ(fake_->unpinned, 0);
  dunlin_unpin(pinned);
  EXPECT_EQ(fake_->unpinned, 1);
  fake_->get_answer.outcome = Outcome::kNotFound;
  EXPECT_EQ(dunlin_get_pinned(&session_, "k", 1, DUNLIN_UNSET, &pinned, &got_), DUNLIN_NOT_FOUND);
  EXPECT_EQ(pinned, nullptr);
  dunlin_unpin(pinned);
  EXPECT_EQ(dunlin_pinned_value(nullptr), nullptr);
}

TEST_F(CCallsTest, Put) {
  dunlin_put_options options = DUNLIN_PUT_OPTIONS_INIT;
  options.mode = DUNLIN_PUT_IF_ABSENT;
  options.ttl_ms = 1000;
  options.deadline_ms = 20;
  EXPECT_EQ(dunlin_put(&session_, "k", 1, "v\0", 2, &options, &wrote_), DUNLIN_OK);
  EXPECT_EQ(fake_->value, std::string("v\0", 2));
  EXPECT_EQ(fake_->put_options.mode, PutMode::kIfAbsent);
  EXPECT_EQ(fake_->put_options.ttl, Milliseconds(1000));
  EXPECT_EQ(fake_->put_options.deadline, Milliseconds(20));
  EXPECT_EQ(wrote_.version, 43u);
  EXPECT_EQ(dunlin_put(&session_, "k", 1, nullptr, 0, nullptr, nullptr), DUNLIN_OK);
  EXPECT_EQ(fake_->value, "");
  EXPECT_EQ(fake_->put_options.mode, PutMode::kAlways);
  EXPECT_FALSE(fake_->put_options.ttl.has_value());
}

TEST_F(CCallsTest, TheOtherWrites) {
  EXPECT_EQ(dunlin_remove(&session_, "k", 1, 5, &wrote_), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "remove");

  dunlin_put_options options = DUNLIN_PUT_OPTIONS_INIT;
  options.mode = DUNLIN_PUT_IF_ABSENT;
  fake_->write_answer = {Outcome::kVersionMismatch, 99, 0};
  EXPECT_EQ(dunlin_compare_and_set(&session_, "k", 1, 98, "w", 1, &options, &wrote_),
            DUNLIN_VERSION_MISMATCH);
  EXPECT_EQ(fake_->version, 98u);
  EXPECT_EQ(fake_->value, "w");
  EXPECT_EQ(fake_->put_options.mode, PutMode::kAlways);
  EXPECT_EQ(wrote_.version, 99u);

  fake_->write_answer = {Outcome::kOk, 100, INT64_MIN};
  EXPECT_EQ(dunlin_add(&session_, "k", 1, -3, nullptr, DUNLIN_UNSET, &wrote_), DUNLIN_OK);
  EXPECT_EQ(fake_->delta, -3);
  EXPECT_FALSE(fake_->initial.has_value());
  EXPECT_EQ(wrote_.sum, INT64_MIN);
  const int64_t initial = 10;
  EXPECT_EQ(dunlin_add(&session_, "k", 1, 1, &initial, 6, nullptr), DUNLIN_OK);
  EXPECT_EQ(fake_->initial, 10);
  EXPECT_EQ(fake_->call_options.deadline, Milliseconds(6));

  EXPECT_EQ(dunlin_touch(&session_, "k", 1, 77, DUNLIN_UNSET, &wrote_), DUNLIN_OK);
  EXPECT_EQ(fake_->ttl, Milliseconds(77));
  EXPECT_EQ(dunlin_touch(&session_, "k", 1, DUNLIN_UNSET, DUNLIN_UNSET, &wrote_), DUNLIN_OK);
  EXPECT_FALSE(fake_->ttl.has_value());
}

TEST_F(CCallsTest, WhatIsNoArgumentIsRefusedBeforeTheSession) {
  char buffer[8];
  dunlin_pinned* pinned = nullptr;
  EXPECT_EQ(dunlin_get(nullptr, "k", 1, buffer, 8, -1, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(got_.outcome, DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_get(&session_, nullptr, 1, buffer, 8, -1, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_get(&session_, "k", 1, nullptr, 8, -1, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_get(&session_, "k", 1, buffer, 8, -2, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_head(&session_, "k", 1, INT64_MIN, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_get_pinned(&session_, "k", 1, -1, nullptr, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_get_pinned(nullptr, "k", 1, -1, &pinned, &got_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_put(&session_, "k", 1, nullptr, 1, nullptr, &wrote_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(wrote_.outcome, DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_remove(nullptr, "k", 1, -1, &wrote_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_add(nullptr, "k", 1, 1, nullptr, -1, &wrote_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_touch(&session_, "k", 1, -2, -1, &wrote_), DUNLIN_INVALID_ARGUMENT);
  dunlin_put_options options = DUNLIN_PUT_OPTIONS_INIT;
  options.mode = static_cast<dunlin_put_mode>(3);
  EXPECT_EQ(dunlin_put(&session_, "k", 1, "v", 1, &options, &wrote_), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_compare_and_set(&session_, "k", 1, 1, "v", 1, &options, &wrote_),
            DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(fake_->call, "");
}

TEST_F(CCallsTest, NoExceptionCrosses) {
  fake_->throws = true;
  char buffer[8];
  EXPECT_EQ(dunlin_get(&session_, "k", 1, buffer, 8, -1, &got_), DUNLIN_INTERNAL);
  EXPECT_EQ(got_.outcome, DUNLIN_INTERNAL);
  EXPECT_EQ(dunlin_put(&session_, "k", 1, "v", 1, nullptr, &wrote_), DUNLIN_INTERNAL);
  EXPECT_EQ(dunlin_submit_remove(
                &session_, "k", 1, -1, [](void*, const dunlin_write_result*) {}, nullptr),
            DUNLIN_INTERNAL);
}

struct Noted {
  int calls = 0;
  dunlin_get_result got{};
  dunlin_write_result wrote{};
};
void NoteGet(void* context, const dunlin_get_result* result) {
  auto* noted = static_cast<Noted*>(context);
  ++noted->calls;
  noted->got = *result;
}
void NoteWrite(void* context, const dunlin_write_result* result) {
  auto* noted = static_cast<Noted*>(context);
  ++noted->calls;
  noted->wrote = *result;
}

TEST_F(CCallsTest, SubmittedCallsEndInTheirCallbacks) {
  char buffer[8] = {};
  Noted noted;
  EXPECT_EQ(dunlin_submit_get(&session_, "k", 1, buffer, 8, 9, NoteGet, &noted), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "submit get");
  EXPECT_EQ(fake_->call_options.deadline, Milliseconds(9));
  EXPECT_EQ(dunlin_submit_put(&session_, "k", 1, "v", 1, nullptr, NoteWrite, &noted), DUNLIN_OK);
  EXPECT_EQ(fake_->call, "submit put");
  EXPECT_EQ(dunlin_in_flight(&session_), 2u);
  EXPECT_EQ(noted.calls, 0);
  EXPECT_EQ(dunlin_poll(&session_), 2u);
  EXPECT_EQ(noted.calls, 2);
  EXPECT_STREQ(buffer, "value");
  EXPECT_EQ(noted.got.version, 42u);
  EXPECT_EQ(noted.wrote.version, 43u);
  EXPECT_EQ(dunlin_submit_remove(&session_, "k", 1, -1, NoteWrite, &noted), DUNLIN_OK);
  dunlin_drain(&session_);
  EXPECT_EQ(fake_->drained, 1);
  EXPECT_EQ(noted.calls, 3);
}

TEST_F(CCallsTest, ASubmitThatIsRefusedRunsNoCallback) {
  Noted noted;
  fake_->full = true;
  EXPECT_EQ(dunlin_submit_remove(&session_, "k", 1, -1, NoteWrite, &noted), DUNLIN_CONTENDED);
  EXPECT_EQ(dunlin_submit_put(&session_, "k", 1, "v", 1, nullptr, nullptr, &noted),
            DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_submit_get(nullptr, "k", 1, nullptr, 0, -1, NoteGet, &noted),
            DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_poll(&session_), 0u);
  EXPECT_EQ(noted.calls, 0);
}

}  // namespace
}  // namespace dunlin
