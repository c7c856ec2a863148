#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/manifest.h"
#include "common/snapshot/snapshot_directory.h"
#include "common/snapshot/snapshot_entry.h"
#include "common/snapshot/snapshot_tag.h"

namespace dunlin {

// A record that owns its bytes.
struct OwnedSnapshotRecord {
  uint64_t version = 0;
  bool unconditional = false;
  std::optional<int64_t> expiry_unix_ms;
  std::string key;
  std::string value;
};

// What was read; sums over disjoint ranges add up to the manifest's counts.
struct SnapshotTotals {
  uint64_t entries = 0;
  uint64_t records = 0;
  uint64_t expiring = 0;
  uint64_t bytes = 0;
  uint64_t highest_version = 0;

  void Add(const SnapshotTotals& other);
};

// Reads one snapshot, and changes nothing in its directory. Thread safe: several threads may read
// disjoint ranges. Nothing that it brings is wrong: blocks and records are checked against their
// checksums, each key against its tag; damage is DataLoss and says where.
class SnapshotReader {
 public:
  struct Options {
    SnapshotFileSystem file_system;            // null: the host's
    size_t cache_bytes = size_t{8} << 20;      // index blocks, and what Get reads
    size_t readahead_bytes = size_t{1} << 20;  // of each ForEach
  };

  // Checks the manifest, that the database's files are exactly those in it, with their sizes, and
  // the contents of all but the tables. The snapshot must not be deleted while it is open.
  // NotFound: there is no such snapshot. DataLoss: it is damaged. Unimplemented: a later format.
  static absl::StatusOr<std::unique_ptr<SnapshotReader>> Open(const std::string& dir, uint64_t id,
                                                              const Options& options);
  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  const SnapshotInfo& info() const;

  // The record of `key`, whether it has expired or not; nothing if there is none.
  absl::StatusOr<std::optional<OwnedSnapshotRecord>> Get(std::span<const std::byte> key) const;

  // Calls `callback` with each record whose tag lies in [first_tag, end_tag), by tag; the record is
  // valid during the call. Stops at the first error, its own or the callback's, and returns it.
  using Callback = absl::FunctionRef<absl::Status(uint64_t tag, const SnapshotRecord& record)>;
  absl::StatusOr<SnapshotTotals> ForEach(uint64_t first_tag, uint64_t end_tag,
                                         Callback callback) const;

  // OK if `totals`, those of all ranges together, are what the manifest says; else DataLoss.
  absl::Status CheckTotals(const SnapshotTotals& totals) const;

  // Reads everything: each file against its checksum, then each entry, then the counts. `progress`,
  // if there is one, is told now and then how many bytes of how many it has read.
  using Progress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;
  absl::Status Verify(const Progress& progress) const;

 private:
  struct Rep;
  explicit SnapshotReader(std::unique_ptr<Rep> rep);

  std::unique_ptr<Rep> rep_;
};

}  // namespace dunlin
