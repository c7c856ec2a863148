#include "client/kvctl/commands/scan.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"

namespace dunlin::kvctl {
namespace {

Report Row(const ScanEntry& entry, const ScanArguments& arguments) {
  Report row;
  row.AddBytes("key", entry.key, arguments.encoding);
  row.AddExact("version", entry.version);
  if (entry.ttl_left.has_value()) {
    row.Add("ttl_ms", entry.ttl_left->count(), Unit::kMillis);
  } else {
    row.AddNull("ttl_ms", "-");
  }
  if (arguments.values) row.AddBytes("value", entry.value, arguments.encoding);
  return row;
}

}  // namespace

ExitCode RunScan(Context& context, const ScanArguments& arguments) {
  const absl::StatusOr<std::string> prefix =
      DecodeArgument("the prefix", arguments.encoding, arguments.prefix);
  if (!prefix.ok()) return Fail(context, prefix.status());
  ScanOptions options;
  options.prefix = *prefix;
  options.values = arguments.values;

  std::vector<Report> rows;
  uint64_t cursor = arguments.cursor;
  bool done = false;
  // Pages may be empty: keys without the prefix are looked at, too.
  while (!done && rows.size() < arguments.limit) {
    options.limit = arguments.limit - static_cast<uint32_t>(rows.size());
    absl::StatusOr<ScanPage> page = context.session->Scan(cursor, options);
    if (!page.ok()) return Fail(context, page.status());
    for (const ScanEntry& entry : page->entries) rows.push_back(Row(entry, arguments));
    cursor = page->next;
    done = page->done;
  }

  Report report;
  report.AddList("entries", std::move(rows));
  if (context.output == OutputFormat::kTable) {
    // How to go on is no part of the table, which may be piped.
    const ExitCode printed = Print(context, report);
    if (!done) Note(context, absl::StrCat("there may be more: --cursor ", cursor));
    return printed;
  }
  if (done) {
    report.AddNull("cursor", "");
  } else {
    report.AddExact("cursor", cursor);
  }
  return Print(context, report);
}

}  // namespace dunlin::kvctl
