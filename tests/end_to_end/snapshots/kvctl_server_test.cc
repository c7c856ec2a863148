#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/end_to_end/snapshots/snapshot_fixture.h"

// `kvctl snapshot ...` and the status, on a running server.

namespace dunlin::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class KvctlSnapshotTest : public SnapshotFixture {
 protected:
  void SetUp() override { StartOn(); }
};

TEST_F(KvctlSnapshotTest, CreateListDelete) {
  const kvctl::KvctlResult none = KvctlOnServer({"snapshot", "list"});
  EXPECT_EQ(none.exit, 0);
  EXPECT_THAT(none.err, HasSubstr("there are no snapshots"));
  EXPECT_EQ(KvctlOnServer({"snapshot", "list", "-o", "json"}).out, "{\"snapshots\":[]}\n");
  ASSERT_EQ(KvctlOnServer({"put", "k", "v"}).exit, 0);
  const kvctl::KvctlResult made = KvctlOnServer({"snapshot", "create"});
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(ContainsRegex("id +1\n"), ContainsRegex("records +1\n"),
                              ContainsRegex("full +yes\n"), ContainsRegex("waited +[0-9.]+ m?s")));
  const kvctl::KvctlResult json = KvctlOnServer({"snapshot", "create", "-o", "json"});
  EXPECT_THAT(json.out, HasSubstr("{\"id\":2,\"state\":\"usable\",\"records\":1,"));
  const kvctl::KvctlResult list = KvctlOnServer({"snapshot", "list"});
  EXPECT_EQ(list.exit, 0);
  EXPECT_THAT(list.out, AllOf(HasSubstr("ID"), ContainsRegex("2 +usable"),
                              ContainsRegex("1 +usable"), HasSubstr(" UTC ")));

  const kvctl::KvctlResult newest = KvctlOnServer({"snapshot", "delete", "2"});
  EXPECT_EQ(newest.exit, 4);
  EXPECT_THAT(newest.err, HasSubstr("newest"));
  EXPECT_EQ(KvctlOnServer({"snapshot", "delete", "77"}).exit, 3);
  EXPECT_EQ(KvctlOnServer({"snapshot", "delete", "1"}).exit, 0);
  EXPECT_EQ(KvctlOnServer({"snapshot", "delete", "1"}).exit, 3);
  EXPECT_THAT(KvctlOnServer({"snapshot", "list"}).out, Not(ContainsRegex("1 +usable")));
  EXPECT_EQ(KvctlOnServer({"snapshot", "delete", "0"}).exit, 2);
  EXPECT_EQ(KvctlOnServer({"snapshot"}).exit, 2);
}

TEST_F(KvctlSnapshotTest, AServerWithoutADirectorySaysSo) {
  StartStore();
  const kvctl::KvctlResult refused = KvctlOnServer({"snapshot", "create"});
  EXPECT_EQ(refused.exit, 4);
  EXPECT_THAT(refused.err, HasSubstr("start it with snapshot-dir"));
  EXPECT_THAT(KvctlOnServer({"status"}).out, ContainsRegex("snapshots +none"));
  EXPECT_THAT(KvctlOnServer({"status", "-o", "json"}).out, HasSubstr("\"snapshots\":null"));
}

TEST_F(KvctlSnapshotTest, TheStatusTellsWhatIsCovered) {
  const kvctl::KvctlResult before = KvctlOnServer({"status"});
  EXPECT_THAT(before.out, AllOf(HasSubstr("SNAPSHOTS"), ContainsRegex("last id +none yet"),
                                ContainsRegex("at risk +all that was written since the start"),
                                ContainsRegex("interval +on demand only"),
                                ContainsRegex("loaded id +started empty")));
  ASSERT_EQ(KvctlOnServer({"put", "k", "v"}).exit, 0);
  Create();
  const kvctl::KvctlResult after = KvctlOnServer({"status", "-o", "json"});
  EXPECT_THAT(after.out, AllOf(HasSubstr("\"last_id\":1,"), HasSubstr("\"last_records\":1,"),
                               ContainsRegex("\"at_risk_ms\":[0-9]+,"), HasSubstr("\"made\":1,"),
                               HasSubstr("\"trouble\":null")));
  Crash();
  const kvctl::KvctlResult restarted = KvctlOnServer({"status"});
  EXPECT_THAT(restarted.out,
              AllOf(ContainsRegex("loaded id +1\n"), ContainsRegex("loaded records +1\n")));
}

TEST_F(KvctlSnapshotTest, Restore) {
  Records records;
  for (int i = 0; i < 300; ++i) {
    Put(&records, "key" + std::to_string(i), "value" + std::to_string(i),
        i % 3 == 0 ? PutOptions{.ttl = Milliseconds(3'600'000)} : PutOptions());
  }
  ASSERT_EQ(KvctlOnServer({"put", std::string("any\xff"), "bytes"}).exit, 0);
  Create();
  const std::string old_dir = dir();

  // Into another server, which has some of the keys.
  StartStore();
  ASSERT_EQ(KvctlOnServer({"put", "key1", "mine"}).exit, 0);
  const kvctl::KvctlResult careful =
      KvctlOnServer({"snapshot", "restore", "--dir", old_dir, "--if-absent", "-o", "json"});
  EXPECT_EQ(careful.exit, 0) << careful.err;
  EXPECT_THAT(careful.out,
              AllOf(HasSubstr("\"written\":300,\"failed\":0"), HasSubstr("\"skipped\":1"),
                    HasSubstr("\"expired\":0"), HasSubstr("\"snapshot\":1")));
  EXPECT_EQ(KvctlOnServer({"get", "key1", "--raw"}).out, "mine");
  const kvctl::KvctlResult all =
      KvctlOnServer({"snapshot", "restore", "--dir", old_dir, "1", "--verify"});
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(ContainsRegex("written +301\n"), HasSubstr("VERIFICATION"),
                             ContainsRegex("verified +301\n")));
  const Records found = Scan();
  EXPECT_EQ(found.size(), 301u);
  for (const auto& [key, record] : records) {
    const auto at = found.find(key);
    ASSERT_NE(at, found.end()) << key;
    EXPECT_EQ(at->second.value, record.value);
    EXPECT_EQ(at->second.ttl_left.has_value(), record.ttl_left.has_value());
    if (record.ttl_left.has_value()) {
      EXPECT_GT(at->second.ttl_left->count(), 3'500'000);
      EXPECT_LE(at->second.ttl_left->count(), 3'600'000);
    }
  }
  EXPECT_EQ(KvctlOnServer({"snapshot", "restore", "--dir", old_dir, "99"}).exit, 3);
}

}  // namespace
}  // namespace dunlin::testing
