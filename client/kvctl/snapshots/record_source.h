#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/kvctl/commands/import.h"
#include "client/kvctl/snapshots/open_snapshot.h"

namespace dunlin::kvctl {

// The records of a snapshot, for an import: those that have not expired when they are read.
class SnapshotSource final : public ImportSource {
 public:
  // All are borrowed.
  SnapshotSource(const Context& context, const std::string& dir, const SnapshotReader& reader);
  ~SnapshotSource() override;

  absl::StatusOr<RecordReader*> Begin(const RecordLimits& limits) override;
  bool repeatable() const override { return true; }
  std::optional<double> fraction() const override;
  std::string_view place() const override { return "record"; }
  void AddTo(Report* report) const override;

 private:
  class Reader;

  const Context& context_;
  const std::string& dir_;
  const SnapshotReader& snapshot_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace dunlin::kvctl
