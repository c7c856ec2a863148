#include "server/patrol/relocate.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

#include "common/layout/word.h"
#include "common/protocol/record_view.h"
#include "server/cpu_atomics.h"

namespace dunlin {
namespace {

constexpr SizeClass kClass = ClassFor(64);
constexpr std::string_view kKey = "some key";
constexpr std::string_view kValue = "its value";

class RelocateTest : public testing::Test {
 protected:
  RelocateTest() : atomics_(memory_.data()) {
    geometry_.heap_offset = 128;
    geometry_.heap_bytes = 512;
    geometry_.region_bytes = memory_.size();
  }

  void Write(bool unconditional, uint64_t expiry) {
    const std::span<const std::byte> value(reinterpret_cast<const std::byte*>(kValue.data()),
                                           kValue.size());
    std::byte* record = Record(from_);
    const uint32_t head = ComposeHead(record, {from_, 4242}, unconditional, expiry, key_, value);
    std::memcpy(record + head, value.data(), value.size());
    StoreWord(memory_.data() + kSlot, from_.raw());
  }
  std::byte* Record(SlotWord word) { return memory_.data() + geometry_.RecordAddress(word); }

  static constexpr uint64_t kSlot = 8;
  alignas(8) std::array<std::byte, 1024> memory_{};
  Geometry geometry_;
  CpuAtomics atomics_;
  const Key key_{reinterpret_cast<const std::byte*>(kKey.data()), kKey.size(), 0};
  const SlotWord from_ = SlotWord::Make(64, kClass, 77, 5);
  const SlotWord to_ = SlotWord::Make(192, kClass, 0, 900);
};

TEST_F(RelocateTest, KeepsAllButTheGeneration) {
  for (bool unconditional : {false, true}) {
    for (uint64_t expiry : {0, 99}) {
      Write(unconditional, expiry);
      ASSERT_TRUE(CopyRecord(memory_.data(), geometry_, from_, to_));
      absl::StatusOr<bool> moved = SwingToCopy(atomics_, kSlot, from_, to_);
      ASSERT_TRUE(moved.ok() && *moved);
      const SlotWord now(LoadWord(memory_.data() + kSlot));
      EXPECT_EQ(now, to_.WithFingerprint(77));
      RecordView view;
      ASSERT_EQ(MatchRecord(Record(now), now, key_, &view), RecordMatch::kSameKey);
      EXPECT_EQ(view.version, 4242u);
      EXPECT_EQ(view.expiry, expiry);
      EXPECT_EQ(view.header.unconditional(), unconditional);
      const std::byte* value = view.data + view.header.value_offset();
      EXPECT_TRUE(ChecksumFits(view, key_, value));
      EXPECT_EQ(std::memcmp(value, kValue.data(), kValue.size()), 0);
    }
  }
}

TEST_F(RelocateTest, LosesToWhoeverChangedTheSlot) {
  Write(true, 0);
  ASSERT_TRUE(CopyRecord(memory_.data(), geometry_, from_, to_));
  for (uint64_t other : {uint64_t{0}, from_.Frozen().raw(), SlotWord::Moved().raw()}) {
    StoreWord(memory_.data() + kSlot, other);
    absl::StatusOr<bool> moved = SwingToCopy(atomics_, kSlot, from_, to_);
    ASSERT_TRUE(moved.ok());
    EXPECT_FALSE(*moved);
    EXPECT_EQ(LoadWord(memory_.data() + kSlot), other);
  }
}

TEST_F(RelocateTest, LeavesAloneWhatIsFrozenOrImplausible) {
  Write(true, 0);
  EXPECT_FALSE(CopyRecord(memory_.data(), geometry_, from_.Frozen(), to_));
  const uint64_t header = LoadWord(Record(from_));
  for (uint64_t damaged : {header ^ 1, header | RecordHeader::kReservedMask,
                           header | uint64_t{1} << 50, uint64_t{5}}) {
    StoreWord(Record(from_), damaged);
    EXPECT_FALSE(CopyRecord(memory_.data(), geometry_, from_, to_));
  }
  StoreWord(Record(from_), header);
  const SlotWord outside = SlotWord::Make(512, kClass, 77, 5);
  EXPECT_FALSE(CopyRecord(memory_.data(), geometry_, outside, to_));
  EXPECT_EQ(LoadWord(Record(to_)), 0u) << "the target was written";
  EXPECT_TRUE(CopyRecord(memory_.data(), geometry_, from_, to_));
}

TEST_F(RelocateTest, DamageIsNotSealedInAnew) {
  Write(true, 0);
  const RecordHeader header(LoadWord(Record(from_)));
  Record(from_)[header.value_offset() + 1] ^= std::byte{1};
  EXPECT_FALSE(CopyRecord(memory_.data(), geometry_, from_, to_));
}

}  // namespace
}  // namespace dunlin
