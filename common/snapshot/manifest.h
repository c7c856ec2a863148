#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dunlin {

inline constexpr uint32_t kSnapshotFormatVersion = 1;

// What a pass found, as far as only the one who walked knows it.
struct SnapshotCounts {
  uint64_t records = 0;
  // 0: not known. Who writes only what changed does not know what it replaces.
  uint64_t entries = 0;
  uint64_t expiring = 0;  // records with an expiry
  uint64_t bytes = 0;     // of all keys and values
  uint64_t highest_version = 0;
  int64_t started_unix_ms = 0;
  int64_t finished_unix_ms = 0;

  bool operator==(const SnapshotCounts&) const = default;
};

// One file of a snapshot's database.
struct SnapshotFile {
  std::string name;  // without a folder
  uint64_t bytes = 0;
  std::string checksum;  // lower-case hexadecimal

  bool operator==(const SnapshotFile&) const = default;
};

struct SnapshotInfo {
  uint64_t id = 0;
  std::optional<uint64_t> previous;  // the snapshot that the pass was based on
  bool full = false;                 // the pass wrote every record
  uint32_t layout_version = 0;
  std::string release;  // of the server; one line
  uint64_t hash_seed = 0;
  SnapshotCounts counts;
  uint64_t changed = 0;             // entries that the pass wrote
  uint64_t deleted = 0;             // entries that it removed
  std::string content;              // checksum over `files`; filled in by EncodeManifest
  std::vector<SnapshotFile> files;  // all there are in db/, by name

  // Of all files.
  uint64_t file_bytes() const;

  bool operator==(const SnapshotInfo&) const = default;
};

// The manifest of a snapshot: lines "name value", each name once and in this order
// (docs/snapshots.md has the grammar), the last one a checksum of all before it.
std::string EncodeManifest(const SnapshotInfo& info);

// DataLoss says what is wrong with it; Unimplemented: a later format.
absl::StatusOr<SnapshotInfo> ParseManifest(std::string_view text);

// XXH3-128 over the names, sizes and checksums of `files`, in hexadecimal.
std::string ContentChecksum(const std::vector<SnapshotFile>& files);

// Whether a file of a snapshot's database may have this name: letters, digits, '.', '-' and '_'.
bool IsPlainFileName(std::string_view name);

}  // namespace dunlin
