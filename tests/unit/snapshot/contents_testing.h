#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/snapshot_reader.h"
#include "common/snapshot/snapshot_store.h"

namespace dunlin::testing {

inline constexpr uint64_t kTestSeed = 0x5EEDull;

struct TestRecord {
  uint64_t version = 0;
  bool unconditional = false;
  std::optional<int64_t> expiry_unix_ms;
  std::string value;

  bool operator==(const TestRecord&) const = default;
};

// What a store holds, by key.
using Contents = std::map<std::string, TestRecord>;

// Two keys with one tag, under kTestSeed.
struct Twins {
  std::string first;
  std::string second;
};
Twins TwinKeys();

// What the store holds when pass `pass` (from 1) looks at it: always the same for the same number.
// Some keys change from one pass to the next, some come and some go, and the twins do so one at a
// time. PassOf tells which it is.
Contents ContentsOfPass(uint64_t pass);
uint64_t PassOf(const Contents& contents);  // 0: of none

SnapshotStore::Options TestOptions(const std::string& dir,
                                   const SnapshotFileSystem& file_system = nullptr);

// BeginPass, then all that differs from `base`, or with none a full pass of all.
absl::Status WritePass(SnapshotStore& store, const Contents* base, const Contents& next);
SnapshotCounts CountsOf(const Contents& contents);

// WritePass and Commit.
absl::StatusOr<SnapshotInfo> MakeSnapshot(SnapshotStore& store, const Contents* base,
                                          const Contents& next);

// All of a snapshot, its totals held against the manifest.
absl::StatusOr<Contents> ReadAll(const std::string& dir, uint64_t id);

// Empty if every usable snapshot in `dir` is exactly what one pass saw, ids and passes rise
// together, and the newest is of pass `at_least` or later; else what is wrong.
std::string WhatIsWrong(const std::string& dir, uint64_t at_least);

}  // namespace dunlin::testing
