#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client/c/c_types.h"
#include "dunlin/dunlin.h"
#include "tests/unit/client/fake_session_testing.h"

namespace dunlin {
namespace {

class CReportTest : public ::testing::Test {
 protected:
  CReportTest() {
    auto fake = std::make_unique<FakeSession>();
    fake_ = fake.get();
    session_.session = std::move(fake);
  }

  dunlin_session session_;
  FakeSession* fake_;
};

void Collect(void* context, const dunlin_scan_entry* entry) {
  auto& all = *static_cast<std::vector<std::string>*>(context);
  all.emplace_back(static_cast<const char*>(entry->key), entry->key_bytes);
  all.back() += "=" + std::string(static_cast<const char*>(entry->value), entry->value_bytes) +
                "@" + std::to_string(entry->version) + "/" + std::to_string(entry->ttl_left_ms);
}

TEST_F(CReportTest, ScanHandsOutThePageAndMovesTheCursor) {
  ScanPage page;
  page.entries = {{"a", "1", 10, std::nullopt}, {"b", "", 11, Milliseconds(5)}};
  page.next = 99;
  fake_->page = page;
  dunlin_scan_options options = DUNLIN_SCAN_OPTIONS_INIT;
  options.prefix = "ab";
  options.prefix_bytes = 2;
  options.limit = 7;
  options.values = false;
  options.deadline_ms = 30;
  std::vector<std::string> all;
  uint64_t cursor = 5;
  bool done = true;
  EXPECT_EQ(dunlin_scan(&session_, &cursor, &options, Collect, &all, &done, nullptr),
            DUNLIN_CODE_OK);
  EXPECT_EQ(fake_->cursor, 5u);
  EXPECT_EQ(fake_->scan_options.prefix, "ab");
  EXPECT_EQ(fake_->scan_options.limit, 7u);
  EXPECT_FALSE(fake_->scan_options.values);
  EXPECT_EQ(fake_->scan_options.deadline, Milliseconds(30));
  EXPECT_EQ(all, (std::vector<std::string>{"a=1@10/-1", "b=@11/5"}));
  EXPECT_EQ(cursor, 99u);
  EXPECT_FALSE(done);
}

TEST_F(CReportTest, AFailedScanMovesNothing) {
  fake_->page = absl::InvalidArgumentError("no such cursor");
  std::vector<std::string> all;
  uint64_t cursor = 5;
  bool done = false;
  dunlin_error error;
  EXPECT_EQ(dunlin_scan(&session_, &cursor, nullptr, Collect, &all, &done, &error),
            DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "no such cursor");
  EXPECT_EQ(cursor, 5u);
  EXPECT_EQ(dunlin_scan(&session_, nullptr, nullptr, Collect, &all, &done, &error),
            DUNLIN_CODE_INVALID_ARGUMENT);
  dunlin_scan_options options = DUNLIN_SCAN_OPTIONS_INIT;
  options.prefix_bytes = 1;
  EXPECT_EQ(dunlin_scan(&session_, &cursor, &options, Collect, &all, &done, &error),
            DUNLIN_CODE_INVALID_ARGUMENT);
}

TEST_F(CReportTest, StatisticsAsFarAsThereIsRoom) {
  // Each counter another number, so that two that were confused show.
  uint64_t next = 1;
  Stats& s = fake_->counters;
  for (uint64_t* counter :
       {&s.gets,       &s.puts,     &s.removes,    &s.compare_and_sets, &s.adds,
        &s.touches,    &s.hits,     &s.misses,     &s.failures,         &s.round_trips,
        &s.chains,     &s.verbs,    &s.reads,      &s.writes,           &s.atomics,
        &s.retries,    &s.absorbed, &s.cache_hits, &s.cache_misses,     &s.lane_messages,
        &s.reconnects, &s.resolved}) {
    *counter = next++;
  }
  dunlin_statistics got = {};
  got.size = sizeof got;
  ASSERT_EQ(dunlin_stats(&session_, &got), DUNLIN_OK);
  EXPECT_EQ(got.size, sizeof got);
  uint64_t words[sizeof got / 8];
  std::memcpy(words, &got, sizeof got);
  for (uint64_t i = 1; i < next; ++i) EXPECT_EQ(words[i], i);

  dunlin_statistics shorter = {};
  shorter.size = offsetof(dunlin_statistics, removes);
  ASSERT_EQ(dunlin_stats(&session_, &shorter), DUNLIN_OK);
  EXPECT_EQ(shorter.puts, 2u);
  EXPECT_EQ(shorter.removes, 0u);
  shorter.size = 0;
  EXPECT_EQ(dunlin_stats(&session_, &shorter), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_stats(&session_, nullptr), DUNLIN_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_stats(nullptr, &shorter), DUNLIN_INVALID_ARGUMENT);
}

TEST_F(CReportTest, LimitsAndLocations) {
  EXPECT_EQ(dunlin_max_key_bytes(&session_), 100u);
  EXPECT_EQ(dunlin_max_value_bytes(&session_), 200u);
  EXPECT_EQ(dunlin_max_key_bytes(nullptr), 0u);
  EXPECT_EQ(dunlin_max_value_bytes(nullptr), 0u);
  dunlin_forget_locations(&session_);
  dunlin_forget_locations(nullptr);
  EXPECT_EQ(fake_->forgotten, 1);
}

TEST_F(CReportTest, ALongMessageIsCutShort) {
  dunlin_error error;
  EXPECT_EQ(c::Report(absl::UnavailableError(std::string(2000, 'x')), &error),
            DUNLIN_CODE_UNAVAILABLE);
  EXPECT_EQ(std::strlen(error.message), sizeof error.message - 1);
}

// The convenience calls of the C++ interface, on the same session.
TEST_F(CReportTest, SessionCallsWithMessages) {
  Session& session = *fake_;
  const auto entry = session.Get("k");
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->value, "value");
  EXPECT_EQ(entry->version, 42u);
  EXPECT_EQ(entry->ttl_left, Milliseconds(7));
  EXPECT_EQ(session.Put("k", "v").value(), 43u);
  EXPECT_TRUE(session.Remove("k").ok());
  fake_->write_answer = {Outcome::kTooLarge, 0, 0};
  EXPECT_EQ(session.Put("k", std::string(300, 'v')).status().message(),
            "too large: value of at most 200 bytes expected, 300 found");
  EXPECT_EQ(session.Put(std::string(101, 'k'), "v").status().message(),
            "too large: key of at most 100 bytes expected, 101 found");
  fake_->get_answer.outcome = Outcome::kNotFound;
  EXPECT_EQ(session.Get("k").status().code(), absl::StatusCode::kNotFound);
  fake_->write_answer = {Outcome::kNotFound, 0, 0};
  EXPECT_EQ(session.Remove("k").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace dunlin
