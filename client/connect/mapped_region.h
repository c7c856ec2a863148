#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "client/connect/fork_guard.h"
#include "common/base/unique_fd.h"
#include "common/layout/geometry.h"
#include "common/layout/superblock.h"

namespace dunlin {

// A server's region, mapped into this process and found usable. Shared by all sessions of a client
// with that server. Thread safe (the object; the region's words have the protocol's rules).
//
// A child after fork() doesn't have the mapping: touch base() only where the fork guard says so.
class MappedRegion {
 public:
  // Errors: FailedPrecondition (truncated, foreign, corrupt, of another layout version or another
  // incarnation: what was expected and what was found), PermissionDenied (read-only descriptor),
  // ResourceExhausted (no address space).
  static absl::StatusOr<std::shared_ptr<MappedRegion>> Map(const UniqueFd& descriptor,
                                                           bool read_only, uint64_t incarnation,
                                                           std::shared_ptr<ForkGuard> guard);
  ~MappedRegion();
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  std::byte* base() const { return base_; }
  uint64_t size() const { return constants_.region_bytes; }
  bool read_only() const { return read_only_; }
  // The constant part as it was when it was validated, in a private copy: nobody scribbles over
  // that, so its offsets stay within the mapping. Its tick, root and state are those of then.
  const Superblock& constants() const { return constants_; }
  const Geometry& geometry() const { return geometry_; }
  uint64_t incarnation() const { return constants_.incarnation; }

  // The superblock itself, for its live words (tick, directory_root, state; by layout/word.h).
  Superblock* superblock() const { return reinterpret_cast<Superblock*>(base_); }
  // Copies words of the region as they are now. REQUIRES: whole words, within it.
  void ReadWords(uint64_t offset, std::span<std::byte> to) const;
  // REQUIRES: index < constants().session_words.
  std::byte* SessionWord(uint32_t index) const {
    return base_ + constants_.session_offset + uint64_t{index} * kSessionWordBytes;
  }

 private:
  MappedRegion(std::byte* base, uint64_t mapped_bytes, bool read_only, const Superblock& constants,
               std::shared_ptr<ForkGuard> guard);

  std::byte* const base_;
  const uint64_t mapped_bytes_;
  const bool read_only_;
  const Superblock constants_;
  const Geometry geometry_;
  const std::shared_ptr<ForkGuard> guard_;
};

}  // namespace dunlin
