#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dunlin {

// The names in a snapshot directory, and the line in its FORMAT.
inline constexpr std::string_view kLockName = "LOCK";
inline constexpr std::string_view kFormatName = "FORMAT";
inline constexpr std::string_view kNewFormatName = "FORMAT.tmp";
inline constexpr std::string_view kLiveName = "live";
inline constexpr std::string_view kPassName = "pass";
inline constexpr std::string_view kUnfinishedSuffix = ".tmp";
inline constexpr std::string_view kDeletedSuffix = ".deleted";
// In a snapshot's folder.
inline constexpr std::string_view kDatabaseName = "db";
inline constexpr std::string_view kManifestName = "MANIFEST.dunlin";

inline constexpr uint64_t kMaxFormatBytes = 4096;
inline constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;

std::string Join(std::string_view folder, std::string_view name);

std::string SnapshotName(uint64_t id);

// A name that begins as a snapshot's does.
struct SnapshotNameParts {
  uint64_t id = 0;
  std::string_view suffix;  // empty for one that exists
};
std::optional<SnapshotNameParts> ParseSnapshotName(std::string_view name);

// Goes away when a server opens the directory.
bool IsLeftover(std::string_view name);

// Whether such a name may be in a directory that has no FORMAT yet.
bool MayPrecedeFormat(std::string_view name);

struct DirectoryFormat {
  uint64_t hash_seed = 0;
  std::string store_id;  // 16 hexadecimal digits

  bool operator==(const DirectoryFormat&) const = default;
};

std::string EncodeFormat(const DirectoryFormat& format);
// DataLoss, or Unimplemented for a later format.
absl::StatusOr<DirectoryFormat> ParseFormat(std::string_view text);

}  // namespace dunlin
