#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "client/kvctl/snapshots/open_snapshot.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "client/kvctl/snapshots/summary.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

ExitCode PrintRecord(Context& context, const SnapshotGetArguments& arguments, uint64_t id,
                     const OwnedSnapshotRecord& record, int64_t now) {
  if (arguments.raw) return PrintBytes(context, record.value);
  Report report;
  report.AddBytes("key", record.key, arguments.key.encoding);
  report.AddBytes("value", record.value, arguments.key.encoding);
  report.AddExact("version", record.version);
  if (record.expiry_unix_ms.has_value()) {
    report.Add("ttl_ms", *record.expiry_unix_ms - now, Unit::kMillis);
  } else {
    report.AddNull("ttl_ms", "never expires");
  }
  report.Add("snapshot", id, Unit::kNone);
  return Print(context, report);
}

}  // namespace

ExitCode RunSnapshotGet(Context& context, const SnapshotGetArguments& arguments) {
  const absl::StatusOr<std::string> key =
      DecodeArgument("the key", arguments.key.encoding, arguments.key.key);
  if (!key.ok()) return Fail(context, key.status());
  const auto reader = OpenSnapshot(context, arguments.snapshot);
  if (!reader.ok()) return Fail(context, SnapshotFailure(reader.status()));
  const uint64_t id = (*reader)->info().id;
  const auto record = (*reader)->Get(AsBytes(std::string_view(*key)));
  if (!record.ok()) {
    return Fail(context, ExplainReadError(arguments.snapshot.dir, id, record.status()));
  }
  const std::string calling = absl::StrCat("get ", QuoteKey(*key), " in snapshot ", id);
  if (!record->has_value()) return Fail(context, absl::NotFoundError(calling + ": not found"));
  const int64_t now = UnixMillis(context);
  if ((*record)->expiry_unix_ms.value_or(now + 1) <= now) {
    return Fail(context, absl::NotFoundError(calling + ": it is there, but has expired since"));
  }
  return PrintRecord(context, arguments, id, **record, now);
}

}  // namespace dunlin::kvctl
