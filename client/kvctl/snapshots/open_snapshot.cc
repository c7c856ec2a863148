#include "client/kvctl/snapshots/open_snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// A server may delete what is there between two looks at it.
constexpr int kAttempts = 5;

std::string Name(uint64_t id) { return absl::StrCat("snapshot ", id); }

std::string KnownIds(const SnapshotListing& listing) {
  if (listing.snapshots.empty()) return "there are none";
  constexpr size_t kShown = 8;
  std::string text = "there are";
  for (size_t i = 0; i < listing.snapshots.size() && i < kShown; ++i) {
    absl::StrAppend(&text, i == 0 ? " " : ", ", listing.snapshots[i].id);
  }
  return listing.snapshots.size() > kShown ? text + ", ..." : text;
}

// Null: it is gone since it was listed, so that looking again may help.
absl::StatusOr<std::unique_ptr<SnapshotReader>> TryOpen(const std::string& dir, uint64_t id) {
  auto reader = SnapshotReader::Open(dir, id, {});
  if (reader.ok()) return reader;
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing now, ListSnapshots(dir));
  if (now.Find(id) == nullptr) return std::unique_ptr<SnapshotReader>();
  return reader;
}

absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenNewest(Context& context,
                                                           const SnapshotListing& listing,
                                                           const std::string& dir) {
  if (listing.snapshots.empty()) {
    return absl::NotFoundError(absl::StrCat("there are no snapshots in ", dir));
  }
  std::vector<std::string> passed_over;
  for (const ListedSnapshot& listed : listing.snapshots) {
    absl::Status why = listed.status;
    if (listed.usable()) {
      auto reader = TryOpen(dir, listed.id);
      if (reader.ok()) {
        for (const std::string& one : passed_over) Note(context, "passed over " + one);
        return reader;
      }
      why = reader.status();
    }
    passed_over.push_back(absl::StrCat(Name(listed.id), ": ", why.message()));
  }
  for (const std::string& one : passed_over) Note(context, one);
  return absl::DataLossError(absl::StrCat("no snapshot in ", dir,
                                          " can be used; 'kvctl snapshot verify --dir ", dir,
                                          "' says what is wrong with each"));
}

absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenById(const SnapshotListing& listing,
                                                         const std::string& dir, uint64_t id) {
  const ListedSnapshot* const listed = listing.Find(id);
  if (listed == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", Name(id), " in ", dir, "; ", KnownIds(listing)));
  }
  if (!listed->usable()) return WithContext(listed->status, Name(id) + " can't be used");
  DUNLIN_ASSIGN_OR_RETURN(auto reader, TryOpen(dir, id));
  if (reader != nullptr) return reader;
  return ExplainReadError(dir, id, absl::OkStatus());
}

}  // namespace

absl::StatusOr<SnapshotListing> ListDirectory(Context& context, const std::string& dir) {
  absl::StatusOr<SnapshotListing> listing = ListSnapshots(dir);
  // Where there is one at a time, the one that was found may be gone when its manifest is read.
  for (int attempt = 1; attempt < kAttempts && listing.ok() &&
                        listing->state == DirectoryState::kGood && listing->snapshots.empty();
       ++attempt) {
    listing = ListSnapshots(dir);
  }
  DUNLIN_RETURN_IF_ERROR(listing);
  switch (listing->state) {
    case DirectoryState::kAbsent:
      return absl::NotFoundError(
          absl::StrCat("there is no directory ", dir, " that you may look into"));
    case DirectoryState::kForeign:
      return absl::InvalidArgumentError(
          absl::StrCat(dir, " is no snapshot directory: ", listing->why));
    case DirectoryState::kDamaged:
      Note(context, absl::StrCat(dir, " is damaged: ", listing->why));
      break;
    case DirectoryState::kEmpty:
    case DirectoryState::kGood:
      break;
  }
  return listing;
}

absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(Context& context,
                                                             const SnapshotChoice& choice) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, ListDirectory(context, choice.dir));
    if (choice.id.has_value()) return OpenById(listing, choice.dir, *choice.id);
    DUNLIN_ASSIGN_OR_RETURN(auto reader, OpenNewest(context, listing, choice.dir));
    if (reader != nullptr) return reader;
  }
  return absl::AbortedError(
      absl::StrCat("the server deletes the snapshots in ", choice.dir,
                   " faster than they can be opened; have it keep more (snapshot-keep)"));
}

absl::Status ExplainReadError(const std::string& dir, uint64_t id, const absl::Status& status) {
  const absl::StatusOr<SnapshotListing> now = ListSnapshots(dir);
  if (now.ok() && now->Find(id) == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        Name(id),
        " was deleted while it was read; take a newer one, or have the server keep more "
        "of them (snapshot-keep)"));
  }
  if (!absl::IsDataLoss(status)) return status;
  return MakeStatus(status.code(), absl::StrCat(status.message(), "; 'kvctl snapshot verify --dir ",
                                                dir, "' shows which snapshots are whole"));
}

std::optional<Record> ToRecord(const SnapshotRecord& record, int64_t now_unix_ms) {
  Record result;
  if (record.expiry_unix_ms.has_value()) {
    if (*record.expiry_unix_ms <= now_unix_ms) return std::nullopt;
    result.ttl_ms = static_cast<uint64_t>(*record.expiry_unix_ms - now_unix_ms);
  }
  result.key = TextOf(record.key);
  result.value = TextOf(record.value);
  return result;
}

int64_t UnixMillis(const Context& context) { return context.clock->WallNanos() / 1'000'000; }

}  // namespace dunlin::kvctl
