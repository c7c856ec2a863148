#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "client/connect/directory_copy.h"
#include "client/connect/fork_guard.h"
#include "client/connect/mapped_region.h"
#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "common/layout/geometry.h"
#include "common/layout/superblock.h"

namespace {

using dunlin::Superblock;
using dunlin::UniqueFd;

constexpr uint64_t kRegionBytes = 16 * 4096;
constexpr off_t kDirectoryAt = 2 * 4096;
constexpr size_t kHeadBytes = 384;  // all of the superblock that has a meaning

void Put(const UniqueFd& file, const void* data, size_t bytes, off_t at) {
  DUNLIN_CHECK_EQ(::pwrite(file.get(), data, bytes, at), static_cast<ssize_t>(bytes));
}

// Where any key would be looked for lies in the region.
void CheckPlaces(const dunlin::MappedRegion& region, const dunlin::DirectoryCopy& directory) {
  const dunlin::DirectoryView view = directory.view();
  const uint64_t entries = uint64_t{1} << view.depth;
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t prefix = view.depth == 0 ? 0 : i << (64 - view.depth);
    for (const uint64_t rest : {uint64_t{0}, uint64_t{0xFFFFFFFF}, uint64_t{0xFFFF}}) {
      const dunlin::Placement place = dunlin::Place(region.geometry(), view, prefix | rest);
      for (const uint64_t bucket : place.bucket) {
        DUNLIN_CHECK_LE(bucket + dunlin::kBucketBytes, region.size());
        DUNLIN_CHECK_GE(bucket, region.constants().index_offset);
      }
    }
  }
}

dunlin::DirectoryCopy::ReadRegion Reader(const dunlin::MappedRegion& region) {
  return [&region](uint64_t offset, std::span<std::byte> to) {
    region.ReadWords(offset, to);
    return absl::OkStatus();
  };
}

}  // namespace

// The first byte says whether to put the checksum right, so that what lies behind that check is
// reached too. Then the superblock, then what lies where a good one has its directory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const bool seal = (data[0] & 1) != 0;
  ++data, --size;
  Superblock superblock{};
  const size_t head = std::min(size, kHeadBytes);
  std::memcpy(&superblock, data, head);
  if (seal) dunlin::SealSuperblock(superblock);
  const UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  DUNLIN_CHECK(file.valid());
  DUNLIN_CHECK_EQ(::ftruncate(file.get(), kRegionBytes), 0);
  Put(file, &superblock, sizeof superblock, 0);
  Put(file, data + head, std::min<size_t>(size - head, kRegionBytes - kDirectoryAt), kDirectoryAt);

  const auto guard = dunlin::ForkGuard::Create();
  DUNLIN_CHECK_OK(guard);
  const auto region = dunlin::MappedRegion::Map(file, true, superblock.incarnation, *guard);
  if (!region.ok()) return 0;
  dunlin::DirectoryCopy directory;
  if (directory.Refresh(Reader(**region), (*region)->constants()).ok()) {
    CheckPlaces(**region, directory);
  }
  return 0;
}
