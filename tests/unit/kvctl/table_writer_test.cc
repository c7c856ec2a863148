#include "client/kvctl/output/table_writer.h"

#include <gtest/gtest.h>

namespace dunlin::kvctl {
namespace {

using Align = TableWriter::Align;

TEST(TableWriter, AlignsColumns) {
  TableWriter table({{"KEY"}, {"SIZE", Align::kRight}, {"NOTE"}});
  table.AddRow({"a", "5", ""});
  table.AddRow({"long-key", "12345", "x"});
  EXPECT_EQ(table.Render(),
            "KEY        SIZE  NOTE\n"
            "a             5\n"
            "long-key  12345  x\n");
}

TEST(TableWriter, CountsCodePoints) {
  TableWriter table({{"A"}, {"B"}});
  table.AddRow({"\xc3\xbc\xc3\xbc", "x"});
  table.AddRow({"abc", "y"});
  EXPECT_EQ(table.Render(), "A    B\n\xc3\xbc\xc3\xbc   x\nabc  y\n");
}

TEST(TableWriter, WithoutTitles) {
  TableWriter table({{""}, {"", Align::kRight}});
  EXPECT_EQ(table.Render(), "");
  table.AddRow({"items", "1"});
  table.AddRow({"bytes", "100"});
  EXPECT_EQ(table.Render(), "items    1\nbytes  100\n");
}

}  // namespace
}  // namespace dunlin::kvctl
