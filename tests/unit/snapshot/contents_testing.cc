#include "tests/unit/snapshot/contents_testing.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/layout/checksum.h"

namespace dunlin::testing {
namespace {

constexpr uint64_t kKeys = 120;
// A key changes at least once in so many passes, so that what it was needs no looking further back.
constexpr uint64_t kLongestRest = 12;
constexpr char kPassKey[] = "pass";

uint64_t TagOf(const std::string& key) { return SnapshotTag(HashKey(AsBytes(key), kTestSeed)); }

Random RandomFor(uint64_t key, uint64_t pass) { return Random(key * 1'000'003 + pass); }

bool Changes(uint64_t key, uint64_t pass) {
  return (key + pass) % kLongestRest == 0 || RandomFor(key, pass).OneIn(5);
}

std::string KeyName(uint64_t key) {
  if (key == 0) return TwinKeys().first;
  if (key == 1) return TwinKeys().second;
  return "key-" + std::to_string(key) + std::string(key % 50, '.');
}

// Nothing if the key isn't there after pass `pass`, in which it changed.
std::optional<TestRecord> RecordOf(uint64_t key, uint64_t pass) {
  Random random = RandomFor(key, pass);
  random.Next();
  if (random.OneIn(4)) return std::nullopt;
  TestRecord record;
  record.version = pass * kKeys + key + 1;
  record.unconditional = random.OneIn(2);
  if (random.OneIn(3)) record.expiry_unix_ms = static_cast<int64_t>(random.Below(1 << 20)) - 100;
  record.value.resize(random.OneIn(10) ? random.Below(20'000) : random.Below(200));
  for (char& c : record.value) c = static_cast<char>(random.Next());
  return record;
}

std::map<uint64_t, std::string> EntriesOf(const Contents& contents) {
  std::map<uint64_t, std::string> entries;
  for (const auto& [key, record] : contents) {
    AppendRecord({record.version, record.unconditional, record.expiry_unix_ms, AsBytes(key),
                  AsBytes(record.value)},
                 &entries[TagOf(key)]);
  }
  return entries;
}

}  // namespace

Twins TwinKeys() { return {"twin-4391869", "twin-7813261"}; }

Contents ContentsOfPass(uint64_t pass) {
  Contents contents;
  for (uint64_t key = 0; key < kKeys; ++key) {
    uint64_t changed = pass;
    while (changed > 0 && !Changes(key, changed)) --changed;
    if (changed == 0) continue;
    if (std::optional<TestRecord> record = RecordOf(key, changed)) {
      contents.emplace(KeyName(key), *std::move(record));
    }
  }
  TestRecord mark;
  mark.version = pass;
  mark.value = std::to_string(pass);
  contents.emplace(kPassKey, mark);
  return contents;
}

uint64_t PassOf(const Contents& contents) {
  const auto mark = contents.find(kPassKey);
  return mark == contents.end() ? 0 : mark->second.version;
}

SnapshotStore::Options TestOptions(const std::string& dir, const SnapshotFileSystem& file_system) {
  SnapshotStore::Options options;
  options.dir = dir;
  options.new_hash_seed = kTestSeed;
  options.release = "test";
  options.table_bytes = 16 << 10;  // several tables a pass
  options.file_system = file_system;
  return options;
}

absl::Status WritePass(SnapshotStore& store, const Contents* base, const Contents& next) {
  DUNLIN_RETURN_IF_ERROR(store.BeginPass(base == nullptr));
  const std::map<uint64_t, std::string> before =
      base == nullptr ? std::map<uint64_t, std::string>() : EntriesOf(*base);
  const std::map<uint64_t, std::string> after = EntriesOf(next);
  std::set<uint64_t> tags;
  for (const auto& [tag, entry] : before) tags.insert(tag);
  for (const auto& [tag, entry] : after) tags.insert(tag);
  for (const uint64_t tag : tags) {
    const auto old = before.find(tag);
    const auto now = after.find(tag);
    if (now == after.end()) {
      DUNLIN_RETURN_IF_ERROR(store.Delete(tag));
    } else if (old == before.end() || old->second != now->second) {
      DUNLIN_RETURN_IF_ERROR(store.Put(tag, AsBytes(now->second)));
    }
  }
  return absl::OkStatus();
}

SnapshotCounts CountsOf(const Contents& contents) {
  SnapshotCounts counts;
  counts.entries = EntriesOf(contents).size();
  for (const auto& [key, record] : contents) {
    ++counts.records;
    counts.expiring += record.expiry_unix_ms.has_value();
    counts.bytes += key.size() + record.value.size();
    counts.highest_version = std::max(counts.highest_version, record.version);
  }
  counts.started_unix_ms = 1'000;
  counts.finished_unix_ms = 2'000;
  return counts;
}

absl::StatusOr<SnapshotInfo> MakeSnapshot(SnapshotStore& store, const Contents* base,
                                          const Contents& next) {
  DUNLIN_RETURN_IF_ERROR(WritePass(store, base, next));
  return store.Commit(CountsOf(next));
}

absl::StatusOr<Contents> ReadAll(const std::string& dir, uint64_t id) {
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotReader> reader,
                          SnapshotReader::Open(dir, id, {}));
  Contents contents;
  const absl::StatusOr<SnapshotTotals> totals = reader->ForEach(
      0, kSnapshotTagEnd, [&](uint64_t tag, const SnapshotRecord& record) -> absl::Status {
        const std::string key(AsText(record.key));
        if (tag != TagOf(key)) return MakeStatus(absl::StatusCode::kInternal, "a wrong tag");
        contents[key] = {record.version, record.unconditional, record.expiry_unix_ms,
                         std::string(AsText(record.value))};
        return absl::OkStatus();
      });
  DUNLIN_RETURN_IF_ERROR(totals);
  DUNLIN_RETURN_IF_ERROR(reader->CheckTotals(*totals));
  return contents;
}

std::string WhatIsWrong(const std::string& dir, uint64_t at_least) {
  const absl::StatusOr<SnapshotListing> listing = ListSnapshots(dir);
  if (!listing.ok()) return listing.status().ToString();
  uint64_t newer = ~uint64_t{0};
  uint64_t newest = 0;
  for (const ListedSnapshot& snapshot : listing->snapshots) {
    const std::string name = "snapshot " + std::to_string(snapshot.id) + ": ";
    if (!snapshot.usable()) return name + snapshot.status.ToString();
    const absl::StatusOr<Contents> contents = ReadAll(dir, snapshot.id);
    if (!contents.ok()) return name + contents.status().ToString();
    const uint64_t pass = PassOf(*contents);
    if (*contents != ContentsOfPass(pass)) {
      return name + "not what pass " + std::to_string(pass) + " saw";
    }
    if (pass >= newer) return name + "a later pass than in a newer one";
    newer = pass;
    newest = std::max(newest, pass);
  }
  if (newest >= at_least) return "";
  return "the newest is of pass " + std::to_string(newest) + ", but pass " +
         std::to_string(at_least) + " was committed";
}

}  // namespace dunlin::testing
