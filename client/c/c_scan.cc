#include <optional>
#include <string_view>

#include "client/c/c_types.h"

using dunlin::c::FromTime;
using dunlin::c::Guarded;
using dunlin::c::IsSpan;
using dunlin::c::IsTime;
using dunlin::c::ReadOptions;
using dunlin::c::Report;
using dunlin::c::ReportInvalid;

namespace {

std::optional<dunlin::ScanOptions> ToScanOptions(const dunlin_scan_options* given) {
  dunlin_scan_options complete = DUNLIN_SCAN_OPTIONS_INIT;
  if (!ReadOptions(given, complete) || !IsSpan(complete.prefix, complete.prefix_bytes) ||
      !IsTime(complete.deadline_ms)) {
    return std::nullopt;
  }
  dunlin::ScanOptions options;
  if (complete.prefix_bytes != 0) {
    options.prefix = {static_cast<const char*>(complete.prefix), complete.prefix_bytes};
  }
  options.limit = complete.limit;
  options.values = complete.values;
  options.deadline = dunlin::c::ToTime(complete.deadline_ms);
  return options;
}

void HandOut(const dunlin::ScanPage& page, dunlin_scan_callback callback, void* context) {
  for (const dunlin::ScanEntry& entry : page.entries) {
    const dunlin_scan_entry converted = {entry.key.data(),   entry.key.size(),
                                         entry.value.data(), entry.value.size(),
                                         entry.version,      FromTime(entry.ttl_left)};
    callback(context, &converted);
  }
}

}  // namespace

dunlin_code dunlin_scan(dunlin_session* session, uint64_t* cursor,
                        const dunlin_scan_options* options, dunlin_scan_callback callback,
                        void* context, bool* done, dunlin_error* error) {
  if (session == nullptr || cursor == nullptr || callback == nullptr || done == nullptr) {
    return ReportInvalid("scan: expected session, cursor, callback and done, found a NULL", error);
  }
  const std::optional<dunlin::ScanOptions> scan = ToScanOptions(options);
  if (!scan.has_value()) {
    return ReportInvalid(
        "scan options: expected their size of this release, a prefix that is not "
        "NULL unless empty, and a deadline or DUNLIN_UNSET",
        error);
  }
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    const auto page = session->session->Scan(*cursor, *scan);
    if (!page.ok()) return Report(page.status(), error);
    HandOut(*page, callback, context);
    *cursor = page->next;
    *done = page->done;
    return Report(absl::OkStatus(), error);
  });
}
