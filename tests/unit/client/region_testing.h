#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "common/layout/superblock.h"

namespace dunlin {

inline constexpr uint64_t kTestPage = 4096;

// A small region: superblock, one page each of session words and directory, four subtables of 32
// buckets, and a heap.
inline Superblock TestSuperblock(uint64_t incarnation = 77) {
  Superblock s{};
  s.magic = kSuperblockMagic;
  s.layout_version = kLayoutVersion;
  s.superblock_bytes = kSuperblockBytes;
  s.incarnation = incarnation;
  s.hash_seed = 99;
  s.slots_per_bucket = kSlotsPerBucket;
  s.buckets_per_subtable = 32;
  s.session_offset = kTestPage;
  s.session_words = 64;
  s.grace_ms = 100;
  s.directory_offset = 2 * kTestPage;
  s.directory_bytes = kTestPage;
  s.index_offset = 3 * kTestPage;
  s.index_bytes = 4 * kTestPage;
  s.heap_offset = 7 * kTestPage;
  s.heap_bytes = 9 * kTestPage;
  s.region_bytes = 16 * kTestPage;
  s.max_value_bytes = 1 << 20;
  s.max_key_bytes = 65'535;
  s.tick_period_ms = 1;
  s.tick = 1000;
  s.directory_root = DirectoryRoot::Make(s.directory_offset, 0, 1).raw();
  s.state = static_cast<uint64_t>(ServerState::kServing);
  SealSuperblock(s);
  return s;
}

// A descriptor of a memory file of `bytes` bytes that begins with `superblock`, with a directory of
// one entry behind it if there is room.
inline UniqueFd TestRegion(const Superblock& superblock, uint64_t bytes) {
  UniqueFd file(::memfd_create("region", MFD_CLOEXEC));
  DUNLIN_CHECK(file.valid());
  DUNLIN_CHECK_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  const size_t head = bytes < sizeof superblock ? bytes : sizeof superblock;
  DUNLIN_CHECK_EQ(::pwrite(file.get(), &superblock, head, 0), static_cast<ssize_t>(head));
  if (bytes == superblock.region_bytes) {
    const uint64_t entry = DirectoryEntry::Make(superblock.index_offset, 0).raw();
    DUNLIN_CHECK_EQ(
        ::pwrite(file.get(), &entry, sizeof entry, static_cast<off_t>(superblock.directory_offset)),
        static_cast<ssize_t>(sizeof entry));
  }
  return file;
}

}  // namespace dunlin
