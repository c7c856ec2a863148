#include "client/kvctl/snapshots/record_source.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// About what is read ahead, and kept in memory.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

}  // namespace

class SnapshotSource::Reader final : public RecordReader {
 public:
  Reader(const Context& context, const std::string& dir, const SnapshotReader& snapshot)
      : context_(context),
        dir_(dir),
        snapshot_(snapshot),
        // Tags are spread evenly.
        step_(kSnapshotTagEnd / (snapshot.info().file_bytes() / kPieceBytes + 1)) {}

  absl::StatusOr<bool> Next(Record* record) override {
    while (piece_.empty()) {
      if (next_tag_ == kSnapshotTagEnd) return false;
      DUNLIN_RETURN_IF_ERROR(ReadPiece());
    }
    *record = std::move(piece_.front());
    piece_.pop_front();
    ++number_;
    return true;
  }
  uint64_t line_number() const override { return number_; }

  double fraction() const {
    return static_cast<double>(next_tag_) / static_cast<double>(kSnapshotTagEnd);
  }
  uint64_t expired() const { return expired_; }

 private:
  absl::Status ReadPiece() {
    const uint64_t end = std::min(next_tag_ + step_, kSnapshotTagEnd);
    const int64_t now = UnixMillis(context_);
    const absl::StatusOr<SnapshotTotals> totals =
        snapshot_.ForEach(next_tag_, end, [&](uint64_t, const SnapshotRecord& found) {
          std::optional<Record> record = ToRecord(found, now);
          if (record.has_value()) {
            piece_.push_back(*std::move(record));
          } else {
            ++expired_;
          }
          return absl::OkStatus();
        });
    if (!totals.ok()) return Explained(totals.status());
    totals_.Add(*totals);
    next_tag_ = end;
    return next_tag_ == kSnapshotTagEnd ? Explained(snapshot_.CheckTotals(totals_))
                                        : absl::OkStatus();
  }

  absl::Status Explained(const absl::Status& status) const {
    return status.ok() ? status : ExplainReadError(dir_, snapshot_.info().id, status);
  }

  const Context& context_;
  const std::string& dir_;
  const SnapshotReader& snapshot_;
  const uint64_t step_;
  uint64_t next_tag_ = 0;
  SnapshotTotals totals_;
  std::deque<Record> piece_;
  uint64_t number_ = 0;
  uint64_t expired_ = 0;
};

SnapshotSource::SnapshotSource(const Context& context, const std::string& dir,
                               const SnapshotReader& reader)
    : context_(context), dir_(dir), snapshot_(reader) {}

SnapshotSource::~SnapshotSource() = default;

absl::StatusOr<RecordReader*> SnapshotSource::Begin(const RecordLimits&) {
  reader_ = std::make_unique<Reader>(context_, dir_, snapshot_);
  return reader_.get();
}

std::optional<double> SnapshotSource::fraction() const { return reader_->fraction(); }

void SnapshotSource::AddTo(Report* report) const {
  report->Add("expired", reader_->expired());
  report->Add("snapshot", snapshot_.info().id, Unit::kNone);
}

}  // namespace dunlin::kvctl
