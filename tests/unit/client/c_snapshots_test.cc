#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/c/c_types.h"
#include "dunlin/dunlin.h"

namespace dunlin {
namespace {

// A client of which only the snapshots are asked for.
class FakeClient final : public Client {
 public:
  absl::StatusOr<std::unique_ptr<Session>> OpenSession(const SessionOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Pong> Ping() override { return absl::UnimplementedError(""); }
  absl::StatusOr<ServerStatus> Status(bool) override { return server_status; }
  absl::StatusOr<ServerStatus> Sweep(Milliseconds) override { return absl::UnimplementedError(""); }
  absl::StatusOr<SnapshotSummary> CreateSnapshot(Milliseconds given) override {
    patience = given;
    if (!status.ok()) return status;
    return snapshots.front();
  }
  absl::StatusOr<std::vector<SnapshotSummary>> ListSnapshots() override {
    if (!status.ok()) return status;
    return snapshots;
  }
  absl::Status DeleteSnapshot(uint64_t id) override {
    deleted = id;
    return status;
  }
  RegionLayout Layout() const override { return {}; }
  const std::string& target() const override { return text_; }
  const std::vector<std::string>& passed_over() const override { return texts_; }

  std::vector<SnapshotSummary> snapshots;
  ServerStatus server_status;
  absl::Status status;
  Milliseconds patience{0};
  uint64_t deleted = 0;

 private:
  std::string text_;
  std::vector<std::string> texts_;
};

class CSnapshotsTest : public ::testing::Test {
 protected:
  CSnapshotsTest() {
    auto fake = std::make_unique<FakeClient>();
    fake_ = fake.get();
    client_.client = std::move(fake);
    SnapshotSummary good;
    good.id = 9;
    good.records = 1;
    good.bytes = 2;
    good.file_bytes = 3;
    good.changed = 4;
    good.deleted = 5;
    good.started_unix_ms = 6;
    good.finished_unix_ms = 7;
    good.full = true;
    SnapshotSummary bad;
    bad.id = 8;
    bad.trouble = "torn";
    fake_->snapshots = {good, bad};
  }

  dunlin_client client_;
  FakeClient* fake_;
};

TEST_F(CSnapshotsTest, Create) {
  dunlin_snapshot made = {};
  made.size = sizeof made;
  ASSERT_EQ(dunlin_create_snapshot(&client_, 1234, &made, nullptr), DUNLIN_CODE_OK);
  EXPECT_EQ(fake_->patience, Milliseconds(1234));
  EXPECT_EQ(made.size, sizeof made);
  EXPECT_EQ(made.id, 9u);
  EXPECT_EQ(made.records, 1u);
  EXPECT_EQ(made.bytes, 2u);
  EXPECT_EQ(made.file_bytes, 3u);
  EXPECT_EQ(made.changed, 4u);
  EXPECT_EQ(made.deleted, 5u);
  EXPECT_EQ(made.started_unix_ms, 6);
  EXPECT_EQ(made.finished_unix_ms, 7);
  EXPECT_TRUE(made.full);
  EXPECT_TRUE(made.usable);
  EXPECT_EQ(dunlin_create_snapshot(&client_, 1, nullptr, nullptr), DUNLIN_CODE_OK);

  dunlin_error error;
  fake_->status = absl::ResourceExhaustedError("no space");
  EXPECT_EQ(dunlin_create_snapshot(&client_, 1, &made, &error), DUNLIN_CODE_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(error.message, "no space");
  made.size = 0;
  EXPECT_EQ(dunlin_create_snapshot(&client_, 1, &made, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_create_snapshot(&client_, -1, nullptr, &error), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_create_snapshot(nullptr, 1, nullptr, &error), DUNLIN_CODE_INVALID_ARGUMENT);
}

void Collect(void* context, const dunlin_snapshot* snapshot, const char* trouble) {
  auto& all = *static_cast<std::vector<std::string>*>(context);
  all.push_back(std::to_string(snapshot->id) + (snapshot->usable ? "+" : "-") +
                (trouble == nullptr ? "" : trouble));
}

TEST_F(CSnapshotsTest, ListAndDelete) {
  std::vector<std::string> all;
  EXPECT_EQ(dunlin_list_snapshots(&client_, Collect, &all, nullptr), DUNLIN_CODE_OK);
  EXPECT_EQ(all, (std::vector<std::string>{"9+", "8-torn"}));
  EXPECT_EQ(dunlin_list_snapshots(&client_, nullptr, &all, nullptr), DUNLIN_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(dunlin_list_snapshots(nullptr, Collect, &all, nullptr), DUNLIN_CODE_INVALID_ARGUMENT);

  EXPECT_EQ(dunlin_delete_snapshot(&client_, 8, nullptr), DUNLIN_CODE_OK);
  EXPECT_EQ(fake_->deleted, 8u);
  fake_->status = absl::FailedPreconditionError("the newest");
  EXPECT_EQ(dunlin_delete_snapshot(&client_, 9, nullptr), DUNLIN_CODE_FAILED_PRECONDITION);
  EXPECT_EQ(dunlin_list_snapshots(&client_, Collect, &all, nullptr),
            DUNLIN_CODE_FAILED_PRECONDITION);
  EXPECT_EQ(dunlin_delete_snapshot(nullptr, 9, nullptr), DUNLIN_CODE_INVALID_ARGUMENT);
}

TEST_F(CSnapshotsTest, InTheStatus) {
  dunlin_server_status status = {};
  status.size = sizeof status;
  ASSERT_EQ(dunlin_status(&client_, false, &status, nullptr), DUNLIN_CODE_OK);
  EXPECT_FALSE(status.snapshots);
  ServerSnapshots& snapshots = fake_->server_status.snapshots.emplace();
  snapshots.last_id = 9;
  snapshots.trouble = "no space";
  ASSERT_EQ(dunlin_status(&client_, false, &status, nullptr), DUNLIN_CODE_OK);
  EXPECT_TRUE(status.snapshots);
  EXPECT_TRUE(status.snapshot_failed);
  EXPECT_EQ(status.snapshot_id, 9u);
  EXPECT_EQ(status.snapshot_at_risk_ms, DUNLIN_UNSET);
  snapshots.at_risk_ms = 17;
  ASSERT_EQ(dunlin_status(&client_, false, &status, nullptr), DUNLIN_CODE_OK);
  EXPECT_EQ(status.snapshot_at_risk_ms, 17);

  // A program built before there were any.
  dunlin_server_status older = {};
  older.size = offsetof(dunlin_server_status, snapshots);
  ASSERT_EQ(dunlin_status(&client_, false, &older, nullptr), DUNLIN_CODE_OK);
  EXPECT_EQ(older.snapshot_id, 0u);
}

}  // namespace
}  // namespace dunlin
