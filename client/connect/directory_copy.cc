#include "client/connect/directory_copy.h"

#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/layout/bucket.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// A split publishes once; that so many end during one copy means a broken server.
constexpr int kAttempts = 16;
constexpr int kEntryBits = 45;

absl::StatusOr<uint64_t> RootWord(const DirectoryCopy::ReadRegion& read) {
  uint64_t word = 0;
  DUNLIN_RETURN_IF_ERROR(
      read(offsetof(Superblock, directory_root), std::as_writable_bytes(std::span(&word, 1))));
  return word;
}

std::string WhyNotARoot(DirectoryRoot root, const Superblock& s) {
  if (root.depth() > kMaxDirectoryDepth) {
    return "depth: expected at most " + std::to_string(kMaxDirectoryDepth) + ", found " +
           std::to_string(root.depth());
  }
  const uint64_t bytes = (uint64_t{1} << root.depth()) * kWordBytes;
  if (root.region_offset() < s.directory_offset || bytes > s.directory_bytes ||
      root.region_offset() - s.directory_offset > s.directory_bytes - bytes) {
    return "expected within [" + std::to_string(s.directory_offset) + ", " +
           std::to_string(s.directory_offset + s.directory_bytes) + "), found " +
           std::to_string(bytes) + " bytes at " + std::to_string(root.region_offset());
  }
  return "";
}

std::string WhyNotAnEntry(uint64_t raw, uint32_t directory_depth, const Superblock& s) {
  const DirectoryEntry entry(raw);
  if (raw >> kEntryBits != 0) return "reserved bits are set";
  if (entry.depth() > directory_depth) {
    return "depth: expected at most " + std::to_string(directory_depth) + ", found " +
           std::to_string(entry.depth());
  }
  const uint64_t bytes = uint64_t{s.buckets_per_subtable} * kBucketBytes;
  // An index grows into the heap.
  const uint64_t end = s.heap_offset + s.heap_bytes;
  if (entry.region_offset() < s.index_offset || bytes > end - s.index_offset ||
      entry.region_offset() - s.index_offset > end - s.index_offset - bytes) {
    return "subtable: expected within [" + std::to_string(s.index_offset) + ", " +
           std::to_string(end) + "), found " + std::to_string(bytes) + " bytes at " +
           std::to_string(entry.region_offset());
  }
  return "";
}

absl::Status Corrupt(const std::string& what) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, "corrupt directory: " + what);
}

}  // namespace

absl::Status DirectoryCopy::Refresh(const ReadRegion& read, const Superblock& superblock) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DUNLIN_ASSIGN_OR_RETURN(const uint64_t before, RootWord(read));
    const DirectoryRoot root(before);
    if (const std::string why = WhyNotARoot(root, superblock); !why.empty()) {
      return Corrupt("root: " + why);
    }
    const size_t count = size_t{1} << root.depth();
    fetched_.resize(count);
    DUNLIN_RETURN_IF_ERROR(read(root.region_offset(), std::as_writable_bytes(std::span(fetched_))));
    // Unchanged: what was read is one directory, and not the next user of its memory.
    DUNLIN_ASSIGN_OR_RETURN(const uint64_t after, RootWord(read));
    if (after != before) continue;
    for (size_t i = 0; i < count; ++i) {
      if (const std::string why = WhyNotAnEntry(fetched_[i], root.depth(), superblock);
          !why.empty()) {
        return Corrupt("entry " + std::to_string(i) + ": " + why);
      }
    }
    std::swap(entries_, fetched_);
    depth_ = root.depth();
    epoch_ = root.epoch();
    root_word_ = root.raw();
    return absl::OkStatus();
  }
  return absl::AbortedError("the server publishes directories faster than they can be read");
}

}  // namespace dunlin
