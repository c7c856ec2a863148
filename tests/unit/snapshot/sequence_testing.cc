#include "tests/unit/snapshot/sequence_testing.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "tests/unit/snapshot/contents_testing.h"

namespace dunlin::testing {
namespace {

// The newest snapshot as the host sees it, whatever file system the store uses.
absl::StatusOr<std::optional<uint64_t>> StartFromNewest(const std::string& dir,
                                                        SnapshotStore& store) {
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, ListSnapshots(dir));
  const ListedSnapshot* const newest = listing.NewestUsable();
  std::optional<uint64_t> id;
  if (newest != nullptr) id = newest->id;
  DUNLIN_RETURN_IF_ERROR(store.StartFrom(id));
  return id;
}

}  // namespace

Sequence RunPasses(const std::string& dir, const SnapshotFileSystem& file_system, uint64_t passes,
                   const std::function<void(uint64_t pass)>& committed) {
  Sequence result;
  auto store = SnapshotStore::Open(TestOptions(dir, file_system));
  result.opened = store.status();
  if (!store.ok()) return result;
  const auto id = StartFromNewest(dir, **store);
  result.opened = id.status();
  if (!id.ok()) return result;
  Contents base;
  if (*id) {
    const auto contents = ReadAll(dir, **id);
    result.opened = contents.status();
    if (!contents.ok()) return result;
    base = *contents;
  }
  const uint64_t first = PassOf(base) + 1;
  for (uint64_t pass = first; pass < first + passes; ++pass) {
    Contents next = ContentsOfPass(pass);
    // The third of each run is full.
    const auto info = MakeSnapshot(**store, pass % 3 == 0 ? nullptr : &base, next);
    result.last = info.status();
    if (!info.ok()) {
      ++result.failed;
      continue;
    }
    base = std::move(next);
    result.committed = pass;
    if (committed) committed(pass);
    // What can't be deleted now is deleted after the next pass.
    (*store)->Retain().IgnoreError();
  }
  return result;
}

}  // namespace dunlin::testing
