#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/output/progress.h"
#include "client/kvctl/snapshots/open_snapshot.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "client/kvctl/snapshots/summary.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

class Verifier {
 public:
  Verifier(Context& context, const SnapshotVerifyArguments& arguments)
      : context_(context), arguments_(arguments) {}

  ExitCode Run() {
    const absl::StatusOr<SnapshotListing> listing = ListDirectory(context_, arguments_.dir);
    if (!listing.ok()) return Fail(context_, SnapshotFailure(listing.status()));
    directory_damaged_ = listing->state == DirectoryState::kDamaged;
    if (arguments_.id.has_value() && listing->Find(*arguments_.id) == nullptr) {
      return Fail(context_, absl::NotFoundError(absl::StrCat(
                                "there is no snapshot ", *arguments_.id, " in ", arguments_.dir)));
    }
    for (const ListedSnapshot& listed : listing->snapshots) {
      if (arguments_.id.has_value() && listed.id != *arguments_.id) continue;
      const absl::Status status = Verify(listed);
      // By retention, under a running server: what matters is what is left.
      if (absl::IsNotFound(status) && !arguments_.id.has_value()) continue;
      if (!status.ok() && !absl::IsDataLoss(status) && !absl::IsUnimplemented(status)) {
        return Fail(context_, SnapshotFailure(status));
      }
      AddRow(listed, status);
    }
    return Summarize();
  }

 private:
  absl::Status Verify(const ListedSnapshot& listed) {
    if (!listed.usable()) return listed.status;
    const std::string& dir = arguments_.dir;
    auto reader = SnapshotReader::Open(dir, listed.id, {});
    if (!reader.ok()) return GoneOr(listed.id, reader.status());
    Progress progress({.mode = arguments_.progress,
                       .terminal = context_.err_is_terminal,
                       .columns = context_.err_columns,
                       .label = absl::StrCat("snapshot ", listed.id),
                       .unit = "MiB"},
                      context_.clock, context_.err);
    Progress::State state;
    const absl::Status status = (*reader)->Verify([&](uint64_t done, uint64_t total) {
      state.done = done >> 20;
      state.fraction = static_cast<double>(done) / static_cast<double>(total);
      progress.Update(state);
    });
    if (status.ok()) state.fraction = 1.0;
    progress.Finish(state);
    return status.ok() ? status : GoneOr(listed.id, status);
  }

  absl::Status GoneOr(uint64_t id, const absl::Status& status) const {
    const absl::StatusOr<SnapshotListing> now = ListSnapshots(arguments_.dir);
    if (!now.ok() || now->Find(id) != nullptr) return status;
    return ExplainReadError(arguments_.dir, id, status);
  }

  void AddRow(const ListedSnapshot& listed, const absl::Status& status) {
    Report row;
    row.Add("id", listed.id, Unit::kNone);
    row.Add("state", status.ok() ? "good" : "damaged");
    row.Add("records", listed.info.counts.records);
    row.Add("file_bytes", ToSummary(listed).file_bytes, Unit::kBytes);
    if (status.ok()) {
      row.AddNull("trouble", "-");
      ++good_;
    } else {
      row.Add("trouble", FromAbsl(status.message()));
      ++damaged_;
    }
    rows_.push_back(std::move(row));
  }

  ExitCode Summarize() {
    Report report;
    report.Add("good", good_);
    report.Add("damaged", damaged_);
    report.AddList("snapshots", std::move(rows_));
    const ExitCode printed = Print(context_, report);
    if (printed != ExitCode::kOk) return printed;
    return damaged_ > 0 || directory_damaged_ ? ExitCode::kDataLoss : ExitCode::kOk;
  }

  Context& context_;
  const SnapshotVerifyArguments& arguments_;
  bool directory_damaged_ = false;
  uint64_t good_ = 0;
  uint64_t damaged_ = 0;
  std::vector<Report> rows_;
};

}  // namespace

ExitCode RunSnapshotVerify(Context& context, const SnapshotVerifyArguments& arguments) {
  return Verifier(context, arguments).Run();
}

}  // namespace dunlin::kvctl
