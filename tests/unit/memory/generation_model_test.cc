// The allocator against a model that remembers every use of every address: no address and
// generation modulo 1024 come back within 256 grace periods, blocks never overlap, and all bytes
// are accounted for, whatever classes the heap's pages go through.

#include <gtest/gtest.h>

#include <map>
#include <unordered_map>
#include <vector>

#include "common/base/random.h"
#include "common/memory/allocator.h"
#include "common/memory/page_history.h"

namespace dunlin {
namespace {

constexpr uint64_t kGrace = 2;
constexpr uint64_t kHeapBytes = 192 * kPageBytes;  // three slabs of the longest, or 48

class Model {
 public:
  Model(uint64_t seed, uint32_t slab_pages)
      : random_(seed), allocator_(kHeapBytes, kGrace, slab_pages) {}

  void Tick() {
    ++tick_;
    allocator_.Advance(tick_, {tick_, 0}, 1u << 20);
  }

  void Take(SizeClass c, uint32_t want) {
    std::vector<BlockRef> blocks;
    uint32_t count = 0;
    if (c == kRunClass) {
      auto run = allocator_.TakeRun(random_.Between(1, 80) * kPageBytes, tick_);
      if (run) blocks.push_back(*run), count = 1;
    } else {
      count = allocator_.Take(c, want, tick_, blocks);
    }
    ASSERT_EQ(count, blocks.size());
    for (BlockRef block : blocks) Handed(block);
  }

  // Returns the block at `index` of those handed out.
  void Return(size_t index) {
    BlockRef block = blocks_[index];
    blocks_[index] = blocks_.back();
    blocks_.pop_back();
    bytes_ -= taken_[block.heap_offset()];
    taken_.erase(block.heap_offset());
    returned_[Key(block)] = tick_;
    last_return_[block.heap_offset()] = tick_;
    ASSERT_TRUE(allocator_.Return(block.word(), tick_));
    ASSERT_FALSE(allocator_.Return(block.word(), tick_)) << "returned twice";
  }

  void ReturnAll() {
    while (!blocks_.empty()) Return(blocks_.size() - 1);
  }

  void Audit() {
    ASSERT_EQ(allocator_.pool().Audit(), "");
    ASSERT_EQ(allocator_.pool().allocated_bytes(), bytes_);
  }

  std::vector<BlockRef>& blocks() { return blocks_; }
  uint64_t reuses() const { return reuses_; }
  const BlockPool& pool() const { return allocator_.pool(); }

 private:
  static uint64_t Key(BlockRef block) {
    return block.heap_offset() << 10 | (block.generation() & 1023u);
  }

  void Handed(BlockRef block) {
    auto before = returned_.find(Key(block));
    if (before != returned_.end()) {
      ++reuses_;
      ASSERT_GE(tick_ - before->second, kGenerationWindow * kGrace)
          << "offset " << block.heap_offset() << " generation " << block.generation() << " tick "
          << tick_;
    }
    auto last = last_return_.find(block.heap_offset());
    if (last != last_return_.end()) {
      ASSERT_GE(tick_ - last->second, kGrace);
    }
    uint64_t bytes = allocator_.pool().BytesOf(block);
    auto next = taken_.lower_bound(block.heap_offset());
    ASSERT_TRUE(next == taken_.end() || block.heap_offset() + bytes <= next->first);
    if (next != taken_.begin()) {
      auto previous = std::prev(next);
      ASSERT_LE(previous->first + previous->second, block.heap_offset());
    }
    ASSERT_LE(block.heap_offset() + bytes, kHeapBytes);
    taken_[block.heap_offset()] = bytes;
    bytes_ += bytes;
    blocks_.push_back(block);
    ASSERT_EQ(allocator_.pool().Find(block.word()), block);
  }

  Random random_;
  Allocator allocator_;
  uint64_t tick_ = 1;
  std::vector<BlockRef> blocks_;
  std::map<uint64_t, uint64_t> taken_;
  std::unordered_map<uint64_t, uint64_t> returned_;     // by address and generation
  std::unordered_map<uint64_t, uint64_t> last_return_;  // by address
  uint64_t bytes_ = 0;
  uint64_t reuses_ = 0;
};

class GenerationModel : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(SlabPages, GenerationModel, testing::Values(kMinSlabPages, kMaxSlabPages));

// Large classes, so that a block is reused often; several share a page's start.
constexpr SizeClass kClasses[] = {ClassFor(512),  ClassFor(1024),  ClassFor(3072),
                                  ClassFor(8192), ClassFor(32768), kRunClass};

TEST_P(GenerationModel, RandomChurn) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed, GetParam());
    Random random(seed + 100);
    for (int step = 0; step < 12000 && !testing::Test::HasFatalFailure(); ++step) {
      if (random.OneIn(2)) model.Take(kClasses[random.Below(6)], random.Between(1, 40));
      uint64_t back = random.OneIn(100) ? model.blocks().size() : random.Below(30);
      while (back-- > 0 && !model.blocks().empty()) {
        model.Return(random.Below(model.blocks().size()));
      }
      model.Tick();
      if (step % 500 == 0) model.Audit();
    }
    EXPECT_GT(model.reuses(), 500u) << "the run was too short to try anything";
  }
}

// The hardest case for the bases: a format gets old while the blocks of one page churn, each for
// its own while and as fast as the grace period allows, so their generations drift apart by any
// amount. Then the page gets another format at once, and again.
TEST_P(GenerationModel, OldFormatsWithWideSpread) {
  uint64_t rested = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed, GetParam());
    Random random(seed);
    for (int round = 0; round < 30 && !testing::Test::HasFatalFailure(); ++round) {
      SizeClass c = kClasses[random.Below(6)];
      model.Take(c, 400);
      rested += model.pool().resting_pages();
      uint64_t bursts = random.Below(8);
      for (uint64_t burst = 0; burst < bursts && !model.blocks().empty(); ++burst) {
        // One of the first page's blocks goes to the back, where it churns.
        for (size_t i = 0; i < model.blocks().size(); ++i) {
          if (model.blocks()[i].heap_offset() / kPageBytes == 0 && random.OneIn(3)) {
            std::swap(model.blocks().back(), model.blocks()[i]);
            break;
          }
        }
        for (uint64_t cycles = random.Below(800); cycles > 0; --cycles) {
          model.Return(model.blocks().size() - 1);
          for (uint64_t t = 0; t < kGrace; ++t) model.Tick();
          model.Take(c, 1);
          if (testing::Test::HasFatalFailure()) return;
          if (model.blocks().empty()) break;
        }
      }
      model.ReturnAll();
      for (uint64_t t = 0; t <= kGrace + random.Below(8); ++t) model.Tick();
      model.Audit();
    }
    EXPECT_GT(model.reuses(), 1000u);
  }
  EXPECT_GT(rested, 0u) << "no page ever had to rest: the case was not reached";
}

// The same on purpose: sixteen blocks of one page are spread evenly over all values modulo 1024, so
// that any base is a little below some address's last use. Without the rest, that address would
// soon come to it.
TEST_P(GenerationModel, NoBaseIsRightForAnEvenSpread) {
  Model model(1, GetParam());
  SizeClass small = ClassFor(256);
  model.Take(small, 16);
  ASSERT_EQ(model.blocks().back().heap_offset() / kPageBytes, 0u);
  for (size_t block = 0; block < 16; ++block) {
    // The back is what churns; each time round another one comes to the back.
    std::swap(model.blocks()[block], model.blocks()[15]);
    for (size_t cycle = 0; cycle < block * 64; ++cycle) {
      model.Return(15);
      for (uint64_t t = 0; t < kGrace; ++t) model.Tick();
      model.Take(small, 1);
    }
    std::swap(model.blocks()[block], model.blocks()[15]);
  }
  model.ReturnAll();
  for (uint64_t t = 0; t < kGrace; ++t) model.Tick();
  uint64_t on_the_page = 0;
  for (int cycle = 0; cycle < 600 && !testing::Test::HasFatalFailure(); ++cycle) {
    model.Take(ClassFor(512), 2000);
    for (BlockRef block : model.blocks()) on_the_page += block.heap_offset() < kPageBytes;
    model.ReturnAll();
    for (uint64_t t = 0; t < kGrace; ++t) model.Tick();
  }
  EXPECT_GT(on_the_page, 0u) << "the page never came back";
  model.Audit();
}

}  // namespace
}  // namespace dunlin
