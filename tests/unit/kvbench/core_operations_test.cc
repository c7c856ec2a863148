#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "bench/kvbench/measure/recorder.h"
#include "bench/kvbench/workload/operations.h"
#include "bench/kvbench/workload/record_codec.h"
#include "tests/unit/kvbench/core_testing.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kOk = 0;
constexpr auto kNotFound = static_cast<size_t>(Return::kNotFound);
constexpr auto kError = static_cast<size_t>(Return::kError);
constexpr auto kNotImplemented = static_cast<size_t>(Return::kNotImplemented);

// One thread's operations on a store in memory.
class Operating {
 public:
  Operating(std::string_view text, Phase phase, size_t batch = 1)
      : workload_(Config(text), phase), session_(*store.Open()), batch_(batch) {
    operations =
        std::make_unique<Operations>(workload_, *session_, recorder, clock_, batch, 0, stop_);
  }

  void Transact(size_t calls) {
    for (size_t i = 0; i < calls; ++i) ASSERT_TRUE(operations->Transact(batch_, 0));
  }
  uint64_t Returned(MetricId metric, size_t how) { return recorder.set().returns(metric)[how]; }
  uint64_t Measured(const std::string& wanted) {
    uint64_t count = 0;
    recorder.set().ForEach(
        [&](const std::string& name, MetricId, bool, const MetricSet::Latency* latency) {
          if (name == wanted && latency != nullptr) count = latency->call.count();
        });
    return count;
  }

  static WorkloadConfig Config(std::string_view text) {
    Properties properties;
    properties.Set("workload", "site.ycsb.workloads.CoreWorkload");
    properties.Set("recordcount", "100");
    properties.Set("fieldcount", "1");
    EXPECT_TRUE(properties.AddText(text, "test").ok());
    const absl::StatusOr<WorkloadConfig> config = ReadWorkload(properties);
    EXPECT_TRUE(config.ok()) << config.status();
    return *config;
  }

  MapStore store;
  Recorder recorder{false};
  std::unique_ptr<Operations> operations;

 private:
  const TickClock clock_;
  const std::atomic<bool> stop_{false};
  Workload workload_;
  std::unique_ptr<BindingSession> session_;
  size_t batch_;
};

// The records that `text` describes.
std::map<std::string, std::string> Loaded(std::string_view text) {
  Operating loading(text, Phase::kLoad);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(loading.operations->Load(1, 0));
  return loading.store.records();
}

void Fill(Operating& running, std::string_view text) {
  for (const auto& [key, value] : Loaded(text)) running.store.Put(key, value);
}

TEST(Operations, LoadInsertsEveryRecordOnce) {
  Operating loading("insertorder=ordered\nzeropadding=12\nfieldlength=64", Phase::kLoad);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(loading.operations->Load(1, 0));
  const auto records = loading.store.records();
  ASSERT_EQ(records.size(), 100u);
  EXPECT_EQ(records.begin()->first, "user000000000000");
  EXPECT_EQ(records.rbegin()->first, "user000000000099");
  for (const auto& [key, value] : records) EXPECT_EQ(value.size(), 64u);
  EXPECT_EQ(loading.Returned(MetricId::kInsert, kOk), 100u);
  EXPECT_EQ(loading.Measured("INSERT"), 100u);
}

TEST(Operations, LoadInBatches) {
  Operating loading("", Phase::kLoad, 32);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loading.operations->Load(32, 0));
  ASSERT_TRUE(loading.operations->Load(4, 0));
  EXPECT_EQ(loading.store.records().size(), 100u);
  EXPECT_EQ(loading.store.seen().calls, 4u);
  EXPECT_EQ(loading.store.seen().most_in_one, 32u);
  EXPECT_EQ(loading.Measured("INSERT"), 100u);
}

TEST(Operations, LoadEndsAtAFailureUnlessToldOtherwise) {
  Operating stops("", Phase::kLoad);
  stops.store.FailInserts(1);
  EXPECT_FALSE(stops.operations->Load(1, 0));
  EXPECT_NE(stops.operations->trouble().find("Error inserting"), std::string::npos);
  EXPECT_EQ(stops.Measured("INSERT-FAILED"), 1u);
  EXPECT_EQ(stops.Returned(MetricId::kInsert, kError), 1u);

  Operating goes_on("core_workload_insertion_keep_going_on_error=true", Phase::kLoad);
  goes_on.store.FailInserts(1);
  EXPECT_TRUE(goes_on.operations->Load(1, 0));
}

TEST(Operations, LoadTriesAgainWhatFailed) {
  Operating loading(
      "core_workload_insertion_retry_limit=3\ncore_workload_insertion_retry_interval=0",
      Phase::kLoad, 10);
  loading.store.FailInserts(12);
  EXPECT_TRUE(loading.operations->Load(10, 0));
  EXPECT_EQ(loading.store.records().size(), 10u);
  // Ten, ten again, and the two that were left.
  EXPECT_EQ(loading.store.seen().inserts, 22u);
  EXPECT_EQ(loading.Returned(MetricId::kInsert, kError), 12u);
  EXPECT_EQ(loading.Returned(MetricId::kInsert, kOk), 10u);
}

TEST(Operations, MixesAsTold) {
  const char* const text = "readproportion=0.5\nupdateproportion=0.3\ninsertproportion=0.2";
  Operating running(text, Phase::kRun);
  Fill(running, text);
  running.Transact(10'000);
  EXPECT_NEAR(static_cast<double>(running.Returned(MetricId::kRead, kOk)), 5000, 250);
  EXPECT_NEAR(static_cast<double>(running.Returned(MetricId::kUpdate, kOk)), 3000, 250);
  const uint64_t inserted = running.Returned(MetricId::kInsert, kOk);
  EXPECT_NEAR(static_cast<double>(inserted), 2000, 250);
  EXPECT_EQ(running.store.records().size(), 100 + inserted);
  // No read is of a record whose insert had not been acknowledged.
  EXPECT_EQ(running.Returned(MetricId::kRead, kNotFound), 0u);
}

TEST(Operations, ReadsOfMissingRecordsAreFailures) {
  Operating running("readproportion=1\nupdateproportion=0", Phase::kRun);
  running.Transact(10);
  EXPECT_EQ(running.Returned(MetricId::kRead, kNotFound), 10u);
  EXPECT_EQ(running.Measured("READ"), 0u);
  EXPECT_EQ(running.Measured("READ-FAILED"), 10u);
}

TEST(Operations, ScansAreNotImplemented) {
  Operating running("readproportion=0\nupdateproportion=0\nscanproportion=1", Phase::kRun, 4);
  running.Transact(5);
  EXPECT_EQ(running.Returned(MetricId::kScan, kNotImplemented), 20u);
  EXPECT_EQ(running.Measured("SCAN-FAILED"), 20u);
  EXPECT_EQ(running.store.seen().calls, 0u);
}

TEST(Operations, AReadModifyWriteReadsAndWrites) {
  const char* const text =
      "readproportion=0\nupdateproportion=0\nreadmodifywriteproportion=1\nfieldlength=50";
  Operating running(text, Phase::kRun, 8);
  Fill(running, text);
  running.Transact(100);
  EXPECT_EQ(running.Measured("READ"), 800u);
  EXPECT_EQ(running.Measured("UPDATE"), 800u);
  EXPECT_EQ(running.Measured("READ-MODIFY-WRITE"), 800u);
  EXPECT_EQ(running.store.seen().reads, 800u);
  EXPECT_EQ(running.store.seen().updates, 800u);
  EXPECT_EQ(running.store.seen().calls, 200u);
}

TEST(Operations, APartialUpdateChangesOneFieldOnly) {
  const char* const text = "fieldcount=4\nfieldlength=20\nreadproportion=0\nupdateproportion=1";
  Operating running(text, Phase::kRun);
  const auto before = Loaded(text);
  Fill(running, text);
  running.Transact(1);
  EXPECT_EQ(running.Returned(MetricId::kUpdate, kOk), 1u);
  EXPECT_EQ(running.Measured("UPDATE"), 1u);
  EXPECT_EQ(running.Measured("READ"), 0u);
  int records = 0, fields = 0;
  for (const auto& [key, value] : running.store.records()) {
    const std::string& old = before.at(key);
    ASSERT_EQ(value.size(), old.size());
    records += value == old ? 0 : 1;
    std::string_view a = value, b = old;
    while (!a.empty()) fields += TakeField(a)->content == TakeField(b)->content ? 0 : 1;
  }
  EXPECT_EQ(records, 1);
  EXPECT_EQ(fields, 1);
}

TEST(Operations, AnUpdateOfAllFieldsReadsNothing) {
  const char* const text =
      "fieldcount=4\nwriteallfields=true\nreadproportion=0\nupdateproportion=1";
  Operating running(text, Phase::kRun);
  Fill(running, text);
  running.Transact(10);
  EXPECT_EQ(running.store.seen().reads, 0u);
  EXPECT_EQ(running.Returned(MetricId::kUpdate, kOk), 10u);
}

TEST(Operations, APartialUpdateOfWhatIsNotThereOrDamaged) {
  const char* const text = "fieldcount=4\nreadproportion=0\nupdateproportion=1";
  Operating running(text, Phase::kRun);
  running.Transact(5);
  EXPECT_EQ(running.Returned(MetricId::kUpdate, kNotFound), 5u);
  EXPECT_EQ(running.store.seen().updates, 0u);
  for (const auto& [key, value] : Loaded(text)) running.store.Put(key, "not fields");
  running.Transact(5);
  EXPECT_EQ(running.Returned(MetricId::kUpdate, kError), 5u);
  EXPECT_NE(running.operations->trouble().find("fieldcount"), std::string::npos);
}

class Integrity : public ::testing::TestWithParam<const char*> {};

TEST_P(Integrity, IsVerifiedAndDamageIsSeen) {
  const std::string text = std::string(GetParam()) +
                           "\ndataintegrity=true\nfieldlength=77\nreadproportion=0.4\n"
                           "updateproportion=0.3\nreadmodifywriteproportion=0.3";
  Operating running(text, Phase::kRun, 4);
  Fill(running, text);
  running.Transact(250);
  const uint64_t verified = running.Returned(MetricId::kVerify, kOk);
  EXPECT_EQ(verified, running.Returned(MetricId::kRead, kOk));
  EXPECT_EQ(running.Returned(MetricId::kVerify, kUnexpectedState), 0u);
  EXPECT_EQ(running.Measured("VERIFY"), verified);
  EXPECT_EQ(running.Returned(MetricId::kUpdate, kError), 0u);
  // What updates left behind is what they were to write.
  for (const auto& [key, value] : Loaded(text)) EXPECT_EQ(running.store.records()[key], value);

  for (auto [key, value] : running.store.records()) {
    value[value.size() / 2] ^= 1;
    running.store.Put(key, value);
  }
  running.Transact(20);
  EXPECT_GT(running.Returned(MetricId::kVerify, kUnexpectedState), 0u);
}

INSTANTIATE_TEST_SUITE_P(Fields, Integrity,
                         ::testing::Values("fieldcount=1", "fieldcount=5",
                                           "fieldcount=5\nwriteallfields=true"));

TEST(Operations, IntegrityOfMissingRecordsIsAnError) {
  Operating running("dataintegrity=true\nreadproportion=1\nupdateproportion=0", Phase::kRun);
  running.Transact(3);
  EXPECT_EQ(running.Returned(MetricId::kVerify, kError), 3u);
}

TEST(Operations, TheSameSeedMakesTheSameOperations) {
  const auto values = [](const char* seed) {
    return Loaded(std::string("fieldlength=30\nkvbench.seed=") + seed);
  };
  EXPECT_EQ(values("5"), values("5"));
  EXPECT_NE(values("5"), values("6"));
}

}  // namespace
}  // namespace dunlin::kvbench
