#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "common/base/check.h"
#include "common/fabric/shm/shm_channel.h"
#include "common/protocol/get.h"
#include "common/protocol/in_place.h"
#include "common/protocol/modify.h"
#include "common/protocol/put.h"
#include "common/protocol/scan.h"

// The operations on an index and a heap in which another process wrote anything at all: they end in
// a bounded number of steps, and touch nothing outside of the region (AddressSanitizer sees to
// that).

namespace dunlin {
namespace {

constexpr uint32_t kBuckets = 4;
constexpr uint64_t kIndex = 4096;
constexpr uint64_t kHeap = kIndex + kBuckets * kBucketBytes;
constexpr uint64_t kHeapBytes = 128 * 1024;
constexpr uint64_t kRegion = kHeap + kHeapBytes;
constexpr int kMostSteps = 2000;

struct Region {
  std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(kRegion);
  uint64_t directory = DirectoryEntry::Make(kIndex, 0).raw();
  Geometry geometry;
  ShmChannel channel{bytes.get(), kRegion, false};
  Env env;
  Chain chain;
  std::vector<std::byte> scratch = std::vector<std::byte>(1 << 16);

  Region(const uint8_t* data, size_t size) {
    geometry.region_bytes = kRegion;
    geometry.bucket_mask = kBuckets - 1;
    geometry.heap_offset = kHeap;
    geometry.heap_bytes = kHeapBytes;
    geometry.grace = 1000;
    geometry.max_key_bytes = kMaxKeyBytes;
    geometry.max_value_bytes = 1 << 20;
    std::memcpy(bytes.get() + kIndex, data, std::min<size_t>(size, kRegion - kIndex));
    // Else nothing but the first word of each bucket would ever be looked at.
    for (uint32_t b = 0; b < kBuckets; ++b) {
      SetPlainWord(bytes.get() + kIndex + b * kBucketBytes, BucketHeader::Free(0, 0).raw());
    }
    env.geometry = &geometry;
    env.directory = {&directory, 0, 1};
    env.now = env.posted = 5;
    env.session = 1;
    env.scratch_bytes = static_cast<uint32_t>(scratch.size());
    env.references = true;
    env.max_attempts = 20;
    chain.scratch = scratch.data();
  }

  template <typename Machine, typename OnOther>
  void Run(Machine& machine, OnOther&& on_other) {
    for (int step = 0; step < kMostSteps; ++step) {
      switch (Action action = machine.Step(env, chain)) {
        case Action::kPost: {
          Chain* done = nullptr;
          channel.Post(&chain);
          DUNLIN_CHECK(channel.Poll(&done, 1) == 1);
          break;
        }
        case Action::kDone:
          return;
        default:
          if (!on_other(action)) return;
      }
    }
    DUNLIN_CHECK(false, "no end");
  }
};

// Reads all of what a machine hands out, as a driver would.
void Touch(const std::byte* bytes, uint64_t size) {
  volatile unsigned sum = 0;
  for (uint64_t i = 0; i < size; ++i) sum = sum + static_cast<unsigned>(bytes[i]);
}

void RunGet(Region& region, const Key& key, GetMode mode, const Location& hint) {
  std::vector<std::byte> sink;
  Get get(key, mode, hint);
  region.Run(get, [&](Action action) {
    if (action == Action::kNeedSink) {
      sink.resize(get.value_bytes());
      get.SupplySink(sink.data(), sink.size());
    }
    return true;
  });
  if (get.result() == Result::kOk && mode == GetMode::kView) Touch(get.value(), get.value_bytes());
}

void RunScan(Region& region) {
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    ScanBucket scan(ScanCursor::Make(0, 0, bucket));
    region.Run(scan, [&](Action) {
      for (uint32_t i = 0; i < scan.entries(); ++i) {
        Touch(scan.entry(i).key, scan.entry(i).key_bytes);
        if (scan.entry(i).value != nullptr) Touch(scan.entry(i).value, scan.entry(i).value_bytes);
      }
      return true;
    });
  }
}

void RunWrites(Region& region, const Key& key, const Location& hint) {
  const std::byte value[8] = {};
  const Block block{SlotWord::Make(kHeapBytes - 128, ClassFor(128), 0, 7), 99};
  auto supply = [&](auto& machine) {
    return [&](Action action) {
      if (action != Action::kNeedBlock) return action != Action::kNeedSink;
      if (machine.block_bytes() > 128) {
        machine.Fail(Result::kMemoryFull);
      } else {
        machine.SupplyBlock(block);
      }
      return true;
    };
  };
  for (auto mode : {Put::Mode::kIfAbsent, Put::Mode::kAlways}) {
    Put put(mode, key, value, 0, hint);
    region.Run(put, supply(put));
  }
  for (auto kind : {ModifyKind::kAdd, ModifyKind::kTouch, ModifyKind::kCompareAndSet,
                    ModifyKind::kReplace, ModifyKind::kRemove}) {
    Modify::Request request;
    request.kind = kind;
    request.key = key;
    request.value = value;
    Modify modify(request, hint);
    region.Run(modify, supply(modify));
  }
}

void RunInPlace(Region& region, const Key& key, const Location& hint) {
  InPlace found;
  Placement place = Place(region.geometry, region.env.directory, key.hash);
  const std::byte* base = region.bytes.get();
  for (bool known : {true, false}) {
    if (known ? FindKnownInPlace(region.geometry, base, hint, key, 5, &found)
              : FindColdInPlace(region.geometry, base, place, key, 5, &found)) {
      Touch(found.value(), found.view.header.value_bytes());
    }
  }
}

}  // namespace
}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  Region region(data, size);
  // The input also says which key is looked for and where a location cache would send it.
  std::byte key_bytes[16] = {};
  std::memcpy(key_bytes, data, std::min<size_t>(size, sizeof key_bytes));
  const uint64_t first = PlainWord(region.bytes.get() + kIndex + 8);
  const Key key{key_bytes, size % 16 == 0 ? 1u : static_cast<uint32_t>(size % 16),
                uint64_t{SlotWord(first).fingerprint()} << 32 | 1u << 16};
  const Location hint{kIndex + 8, SlotWord(first), 0, 0};
  for (const Location& location : {Location{}, hint}) {
    for (GetMode mode : {GetMode::kCopy, GetMode::kView, GetMode::kHead}) {
      RunGet(region, key, mode, location);
    }
  }
  RunScan(region);
  RunInPlace(region, key, hint);
  RunWrites(region, key, hint);
  return 0;
}
