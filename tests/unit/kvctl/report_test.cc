#include "client/kvctl/output/report.h"

#include <gtest/gtest.h>

#include <limits>

namespace dunlin::kvctl {
namespace {

TEST(Report, Json) {
  Report report;
  report.Add("state", "ser\"ving");
  report.Add("huge_pages", true);
  report.Add("used", 0.25, Unit::kPerCent);
  report.Add("bytes", uint64_t{1} << 33, Unit::kBytes);
  report.Add("sum", std::numeric_limits<int64_t>::min(), Unit::kNone);
  report.AddBytes("key", "\xff", Encoding::kText);
  report.AddExact("version", std::numeric_limits<uint64_t>::max());
  report.AddNull("ttl_ms", "never");
  Report inner;
  inner.Add("a", 1u);
  report.AddObject("inner", inner);
  report.AddList("rows", {inner, inner});
  report.AddList("none", {});
  EXPECT_EQ(report.ToJson(),
            R"({"state":"ser\"ving","huge_pages":true,"used":0.25,"bytes":8589934592,)"
            R"("sum":-9223372036854775808,"key_base64":"/w==","version":"18446744073709551615",)"
            R"("ttl_ms":null,"inner":{"a":1},"rows":[{"a":1},{"a":1}],"none":[]})"
            "\n");
}

TEST(Report, MomentsAndOthersMembers) {
  Report first;
  first.Add("finished_unix_ms", int64_t{1'796'056'731'045}, Unit::kUnixMillis);
  Report second;
  second.Add("id", 7u, Unit::kNone);
  first.Append(second);
  EXPECT_EQ(first.ToTable(), "finished  2026-11-30 16:38:51.045 UTC\nid        7\n");
  EXPECT_EQ(first.ToJson(), "{\"finished_unix_ms\":1796056731045,\"id\":7}\n");
}

TEST(Report, Table) {
  Report row;
  row.Add("id", 7u, Unit::kNone);
  row.Add("name", "x\ty");
  Report memory;
  memory.Add("heap_bytes", uint64_t{3} << 29, Unit::kBytes);
  Report report;
  report.Add("items", 1234567u);
  report.Add("delta", -1234, Unit::kCount);
  report.Add("huge_pages", false);
  report.AddBytes("key", "a\n", Encoding::kText);
  report.AddBytes("hex", "a\n", Encoding::kHex);
  report.AddNull("ttl_ms", "never expires");
  report.AddList("sessions", {row, row});
  report.AddObject("memory", memory);
  report.AddList("none", {});
  EXPECT_EQ(report.ToTable(),
            "items       1,234,567\n"
            "delta       -1,234\n"
            "huge pages  no\n"
            "key         a\\n\n"
            "hex         610a\n"
            "ttl         never expires\n"
            "\n"
            "SESSIONS\n"
            "ID  NAME\n"
            " 7  x\\ty\n"
            " 7  x\\ty\n"
            "\n"
            "MEMORY\n"
            "heap bytes  1.50 GiB\n");
}

TEST(Report, AListAloneHasNoHeading) {
  Report row;
  row.AddBytes("key", "k", Encoding::kText);
  Report report;
  report.AddList("entries", {row});
  EXPECT_EQ(report.ToTable(), "KEY\nk\n");
}

TEST(Report, Units) {
  Report report;
  report.Add("a", 1500u, Unit::kMillis);
  report.Add("b", 1500u, Unit::kNanos);
  report.Add("c", 0.125, Unit::kPerCent);
  report.Add("d", 61'000.0, Unit::kRate);
  report.Add("e", std::numeric_limits<int64_t>::min());
  EXPECT_EQ(report.ToTable(),
            "a  1.50 s\nb  1.50 us\nc  12.5 %\nd  61.0 k/s\ne  -9,223,372,036,854,775,808\n");
}

}  // namespace
}  // namespace dunlin::kvctl
