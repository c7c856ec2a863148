#include "common/fabric/verbs/key_table.h"

#include "gtest/gtest.h"

namespace dunlin {
namespace {

std::vector<MemoryKey> Keys() {
  return {{0, 4096, 0x10000, 1}, {4096, 8192, 0x90000, 2}, {12288, 4096, 0x20000, 3}};
}

TEST(KeyTableTest, FindsTheKeyOfAPlace) {
  const KeyTable table(Keys());
  EXPECT_EQ(table.At(0).key, 1u);
  EXPECT_EQ(table.At(4095).key, 1u);
  EXPECT_EQ(table.At(4096).key, 2u);
  EXPECT_EQ(table.At(12287).key, 2u);
  EXPECT_EQ(table.At(12288).key, 3u);
}

TEST(KeyTableTest, WantsTheRegionCovered) {
  EXPECT_EQ(KeyTable::WhyNotValid(Keys(), 16384), "");
  EXPECT_EQ(KeyTable::WhyNotValid(Keys(), 16000), "");
  EXPECT_NE(KeyTable::WhyNotValid(Keys(), 16385), "");
  EXPECT_NE(KeyTable::WhyNotValid({}, 16384), "");
  EXPECT_NE(KeyTable::WhyNotValid({}, 0), "");
  auto keys = Keys();
  keys[1].offset = 4097;
  EXPECT_NE(KeyTable::WhyNotValid(keys, 16384), "") << "a gap";
  keys = Keys();
  keys[0].bytes = 0;
  EXPECT_NE(KeyTable::WhyNotValid(keys, 16384), "");
  keys = Keys();
  keys[2].bytes = UINT64_MAX - 1;
  EXPECT_NE(KeyTable::WhyNotValid(keys, 16384), "") << "wraps around";
  keys = Keys();
  keys[2].address = UINT64_MAX - 100;
  EXPECT_NE(KeyTable::WhyNotValid(keys, 16384), "") << "wraps around";
  std::swap(keys[0], keys[1]);
  EXPECT_NE(KeyTable::WhyNotValid(keys, 16384), "") << "out of order";
}

}  // namespace
}  // namespace dunlin
