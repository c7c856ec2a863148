#include "common/snapshot/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dunlin {
namespace {

using ::testing::HasSubstr;

SnapshotInfo Example() {
  SnapshotInfo info;
  info.id = 42;
  info.previous = 41;
  info.layout_version = 2;
  info.release = "0.1.0";
  info.hash_seed = 0xFEDCBA9876543210;
  info.counts = {10, 11, 3, 4567, 99, 1'700'000'000'000, 1'700'000'000'900};
  info.changed = 5;
  info.deleted = 2;
  info.files = {{"000012.sst", 1234, "0123456789abcdef"}, {"CURRENT", 16, "00"}};
  info.content = ContentChecksum(info.files);
  return info;
}

TEST(Manifest, ComesBack) {
  const SnapshotInfo info = Example();
  const auto parsed = ParseManifest(EncodeManifest(info));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, info);

  SnapshotInfo first = Example();
  first.previous.reset();
  first.full = true;
  first.files.clear();
  first.content = ContentChecksum(first.files);
  const auto parsed_first = ParseManifest(EncodeManifest(first));
  ASSERT_TRUE(parsed_first.ok()) << parsed_first.status();
  EXPECT_EQ(*parsed_first, first);
}

TEST(Manifest, IsTextForPeople) {
  const std::string text = EncodeManifest(Example());
  EXPECT_THAT(text, HasSubstr("dunlin-snapshot 1\nid 42\nprevious 41\nfull no\n"));
  EXPECT_THAT(text, HasSubstr("hash_seed fedcba9876543210\n"));
  EXPECT_THAT(text, HasSubstr("file 000012.sst 1234 0123456789abcdef\nfile CURRENT 16 00\n"));
}

TEST(Manifest, EveryCutAndEveryFlippedBitIsNoticed) {
  const std::string text = EncodeManifest(Example());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_TRUE(absl::IsDataLoss(ParseManifest(text.substr(0, bytes)).status())) << bytes;
  }
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(absl::IsDataLoss(ParseManifest(flipped).status())) << "bit " << bit;
  }
  EXPECT_FALSE(ParseManifest(text + "\n").ok());
  EXPECT_FALSE(ParseManifest(text + text).ok());
}

TEST(Manifest, FilesHaveToBePlainAndInOrder) {
  for (const char* name : {"", ".", "..", "a/b", "../x", "a b", "a\nb", "\xff"}) {
    SnapshotInfo info = Example();
    info.files[0].name = name;
    EXPECT_FALSE(ParseManifest(EncodeManifest(info)).ok()) << name;
  }
  SnapshotInfo swapped = Example();
  std::swap(swapped.files[0], swapped.files[1]);
  EXPECT_THAT(std::string(ParseManifest(EncodeManifest(swapped)).status().message().data()),
              HasSubstr("order"));
  SnapshotInfo twice = Example();
  twice.files[1] = twice.files[0];
  EXPECT_FALSE(ParseManifest(EncodeManifest(twice)).ok());
}

TEST(Manifest, SaysWhatItIsOf) {
  const std::string one = ContentChecksum(Example().files);
  EXPECT_EQ(one.size(), 32u);
  auto files = Example().files;
  files[0].bytes ^= 1;
  EXPECT_NE(ContentChecksum(files), one);
}

}  // namespace
}  // namespace dunlin
