#include "server/index/index_space.h"

#include <cstring>
#include <set>

#include "client/connect/directory_copy.h"
#include "server/region_plan.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

// A space and an allocator of the test's own, beside the core's.
class IndexSpaceTest : public CoreFixture {
 protected:
  IndexSpaceTest()
      : region_(base_.get(), plan_),
        space_(region_, plan_),
        allocator_(plan_.heap_bytes, plan_.grace_ms) {}

  // Publishes two halves at memory that was taken for them; their first addresses.
  std::pair<uint64_t, uint64_t> Split(uint32_t position) {
    const IndexSpace::Subtable old = space_.At(position);
    const auto one = space_.Take(allocator_, 1);
    const auto two = space_.Take(allocator_, 1);
    EXPECT_TRUE(one && two);
    if (!one || !two) return {0, 0};
    const uint64_t children[2] = {one->address, two->address};
    space_.Publish(old, children);
    return {children[0], children[1]};
  }

  // Fetched as a client does it.
  void ExpectClientsSeeIt() {
    DirectoryCopy copy;
    const auto reader = [this](uint64_t offset, std::span<std::byte> to) {
      std::memcpy(to.data(), At(offset), to.size());
      return absl::OkStatus();
    };
    const absl::Status fetched = copy.Refresh(reader, plan_);
    ASSERT_TRUE(fetched.ok()) << fetched;
    const DirectoryView seen = copy.view();
    const DirectoryView own = space_.directory();
    ASSERT_EQ(seen.depth, own.depth);
    EXPECT_EQ(seen.epoch, own.epoch & 0xFFFFFF);
    for (uint64_t i = 0; i < uint64_t{1} << own.depth; ++i) {
      ASSERT_EQ(seen.entries[i], own.entries[i]) << i;
    }
  }
  // Every position is served by exactly one subtable, of the depth and prefix that it says.
  void ExpectWhole() {
    uint64_t count = 0;
    std::set<uint64_t> addresses;
    for (uint32_t position = 0; position != IndexSpace::kPositions;) {
      const IndexSpace::Subtable here = space_.At(position);
      ASSERT_EQ(IndexSpace::First(here), position);
      ASSERT_EQ(space_.At(IndexSpace::Next(here) - 1), here);
      EXPECT_TRUE(addresses.insert(here.address).second);
      ++count;
      position = IndexSpace::Next(here);
    }
    EXPECT_EQ(count, space_.subtables());
    EXPECT_EQ(space_.index_bytes(), count * space_.subtable_bytes());
  }

  RegionView region_;
  IndexSpace space_;
  Allocator allocator_;
};

TEST_F(IndexSpaceTest, StartsAsThePlanSays) {
  EXPECT_EQ(space_.subtables(), 1u);
  EXPECT_EQ(space_.CountAt(0), 1u);
  EXPECT_EQ(space_.ShallowestDepth(), 0u);
  EXPECT_EQ(space_.At(0), (IndexSpace::Subtable{plan_.index_offset, 0, 0}));
  EXPECT_EQ(space_.At(IndexSpace::kPositions - 1), space_.At(0));
  EXPECT_EQ(space_.spare_bytes(), 0u);
  EXPECT_EQ(space_.slots(), uint64_t{geometry_.bucket_mask + 1} * kSlotsPerBucket);
  ExpectClientsSeeIt();
}

TEST_F(IndexSpaceTest, PublishesAtTheDirectorysDepthAndBelow) {
  const uint32_t epoch = space_.directory().epoch;
  const auto [left, right] = Split(0);
  EXPECT_EQ(space_.directory().depth, 1u);
  EXPECT_EQ(space_.At(0), (IndexSpace::Subtable{left, 0, 1}));
  EXPECT_EQ(space_.At(IndexSpace::kPositions / 2), (IndexSpace::Subtable{right, 1, 1}));
  ExpectClientsSeeIt();
  // Three times on the left: the directory gets deeper each time.
  for (int i = 0; i < 3; ++i) {
    Split(0);
    ExpectClientsSeeIt();
    ExpectWhole();
  }
  EXPECT_EQ(space_.directory().depth, 4u);
  // The right half is one subtable in eight entries: split without a deeper directory.
  const auto [middle, last] = Split(IndexSpace::kPositions - 1);
  EXPECT_EQ(space_.directory().depth, 4u);
  EXPECT_EQ(space_.At(IndexSpace::kPositions / 2), (IndexSpace::Subtable{middle, 2, 2}));
  EXPECT_EQ(space_.At(IndexSpace::kPositions - 1), (IndexSpace::Subtable{last, 3, 2}));
  ExpectClientsSeeIt();
  ExpectWhole();
  EXPECT_EQ(space_.subtables(), 6u);
  EXPECT_EQ(space_.ShallowestDepth(), 2u);
  EXPECT_EQ(space_.CountAt(0), 0u);
  EXPECT_EQ(space_.CountAt(4), 2u);
  EXPECT_EQ(space_.directory().epoch, epoch + 5) << "every publication is seen";
}

TEST_F(IndexSpaceTest, TheDirectoryAreaIsTheLimit) {
  const uint32_t most = MostDirectoryDepth(plan_);
  for (uint32_t depth = 0; depth < most; ++depth) {
    ASSERT_TRUE(space_.CanSplit(depth));
    Split(0);
  }
  EXPECT_EQ(space_.directory().depth, most);
  EXPECT_FALSE(space_.CanSplit(most));
  EXPECT_TRUE(space_.CanSplit(most - 1));
  ExpectClientsSeeIt();
  ExpectWhole();
  EXPECT_LE(DirectoryPlace(most) + (uint64_t{8} << most), plan_.directory_bytes);
}

TEST_F(IndexSpaceTest, ReadersOfAnOldDirectoryFindWhatWasTrueOnce) {
  Split(0);
  const DirectoryRoot old(LoadWord(base_.get() + offsetof(Superblock, directory_root)));
  const std::vector<uint64_t> before(space_.directory().entries, space_.directory().entries + 2);
  Split(0);
  Split(0);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(LoadWord(At(old.region_offset() + i * 8)), before[i]);
  }
}

TEST_F(IndexSpaceTest, RetiredMemoryComesBackAfterTheGraceAndTheHoldBack) {
  Split(0);
  const uint64_t old = plan_.index_offset;
  space_.Retire(old, 100);
  EXPECT_EQ(space_.spare_bytes(), space_.subtable_bytes());
  EXPECT_FALSE(space_.GraceDue(100 + kGrace - 1));
  const auto taken = [&] {
    const auto place = space_.Take(allocator_, 1);
    EXPECT_TRUE(place);
    const bool is_old = place && place->address == old;
    EXPECT_EQ(is_old, place && place->used);
    if (place && !is_old) space_.GiveBack(*place);
    return is_old;
  };
  space_.Advance(100 + kGrace - 1, {100 + kGrace - 1, 0});
  EXPECT_FALSE(taken()) << "the grace period is not over";
  const uint64_t due = 100 + kGrace;
  EXPECT_TRUE(space_.GraceDue(due));
  space_.Advance(due, {100, 0});
  EXPECT_FALSE(taken()) << "the words were not looked at since";
  space_.Advance(due, {due, 100});
  EXPECT_FALSE(taken()) << "a call that began before is under way";
  space_.Advance(due, {due, 1});
  EXPECT_FALSE(taken());
  EXPECT_TRUE(space_.GraceDue(due));
  space_.Advance(due, {due, 101});
  EXPECT_TRUE(taken());
  EXPECT_FALSE(space_.GraceDue(due));
}

TEST_F(IndexSpaceTest, MemoryIsTakenFromTheHeapUntilThereIsNone) {
  std::set<uint64_t> addresses{plan_.index_offset};
  std::vector<IndexSpace::Place> places;
  while (const auto place = space_.Take(allocator_, 1)) {
    EXPECT_FALSE(place->used);
    EXPECT_EQ(place->address % kBucketBytes, 0u);
    EXPECT_GE(place->address, plan_.heap_offset);
    EXPECT_LE(place->address + space_.subtable_bytes(), plan_.heap_offset + plan_.heap_bytes);
    for (uint64_t a : addresses) {
      ASSERT_TRUE(a + space_.subtable_bytes() <= place->address ||
                  place->address + space_.subtable_bytes() <= a);
    }
    addresses.insert(place->address);
    places.push_back(*place);
    ASSERT_LT(places.size(), 1000u);
  }
  EXPECT_GE(places.size() * space_.subtable_bytes(), plan_.heap_bytes * 9 / 10);
  EXPECT_EQ(allocator_.pool().Audit(), "");
  EXPECT_GE(allocator_.pool().index_bytes(), places.size() * space_.subtable_bytes());
  for (const IndexSpace::Place& place : places) space_.GiveBack(place);
  EXPECT_TRUE(space_.Take(allocator_, 1));
}

TEST_F(IndexSpaceTest, AddressesAreNotBelieved) {
  const auto [left, right] = Split(0);
  for (uint64_t subtable : {plan_.index_offset, left, right}) {
    for (uint64_t bucket : {uint64_t{0}, uint64_t{geometry_.bucket_mask}}) {
      const uint64_t header = subtable + bucket * kBucketBytes;
      EXPECT_TRUE(space_.IsHeaderAddress(header));
      EXPECT_FALSE(space_.IsSlotAddress(header));
      for (uint64_t slot : {header + 8, header + kBucketBytes - 8}) {
        EXPECT_TRUE(space_.IsSlotAddress(slot));
        EXPECT_FALSE(space_.IsHeaderAddress(slot));
      }
      for (uint64_t odd : {header + 1, header + 4, header + 12}) {
        EXPECT_FALSE(space_.IsSlotAddress(odd));
        EXPECT_FALSE(space_.IsHeaderAddress(odd));
      }
    }
  }
  const uint64_t area_begin = std::min(left, right);
  const uint64_t area_end = std::max(left, right) + space_.subtable_bytes();
  const uint64_t hostile[] = {0,
                              8,
                              plan_.session_offset,
                              plan_.directory_offset + 8,
                              plan_.index_offset - 128,
                              plan_.index_offset - 8,
                              plan_.index_offset + plan_.index_bytes,
                              plan_.index_offset + plan_.index_bytes + 8,
                              area_begin - 128,
                              area_begin - 8,
                              area_end,
                              area_end + 8,
                              plan_.region_bytes,
                              ~uint64_t{0},
                              ~uint64_t{7},
                              ~uint64_t{127}};
  for (uint64_t address : hostile) {
    // The index of the start and an area of the heap may lie side by side.
    if (address >= area_begin && address < area_end) continue;
    if (address >= plan_.index_offset && address < plan_.index_offset + plan_.index_bytes) continue;
    EXPECT_FALSE(space_.IsSlotAddress(address)) << address;
    EXPECT_FALSE(space_.IsHeaderAddress(address)) << address;
  }
}

}  // namespace
}  // namespace dunlin
