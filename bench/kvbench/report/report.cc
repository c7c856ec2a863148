#include "bench/kvbench/report/report.h"

#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "bench/kvbench/report/condense.h"
#include "bench/kvbench/report/page_template.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/base/write_file.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kMostRuns = 2000;

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// In JSON these occur in strings alone. Without them nothing in it can end the script element, or
// begin a comment or another script, whatever the HTML parser's state.
std::string EscapeForScript(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        escaped += "\\u003c";
        break;
      case '>':
        escaped += "\\u003e";
        break;
      case '&':
        escaped += "\\u0026";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

absl::StatusOr<std::string> DataOf(std::span<const Results> runs, const ReportOptions& options) {
  const PageLimits limits = LimitsFor(runs);
  std::string data = "{\"baseline\":\"" + EscapeJson(options.baseline) + "\",\"runs\":[";
  const char* separator = "\n";
  for (const Results& run : runs) {
    std::string json;
    const auto written = google::protobuf::util::MessageToJsonString(Condense(run, limits), &json);
    if (!written.ok()) {
      return MakeStatus(
          absl::StatusCode::kInvalidArgument,
          "run \"" + run.label() + "\" can't be written as JSON: " + written.ToString());
    }
    data += separator + json;
    separator = ",\n";
  }
  return EscapeForScript(data + "\n]}");
}

// Fills the places of the template in one pass, so that nothing filled in is looked at again.
std::string FillIn(std::string_view title, std::string_view data) {
  constexpr std::string_view kTitle = "%TITLE%";
  constexpr std::string_view kData = "%DATA%";
  std::string page;
  page.reserve(kPageTemplate.size() + data.size() + 2 * title.size());
  std::string_view rest = kPageTemplate;
  while (!rest.empty()) {
    const size_t place = rest.find('%');
    page += rest.substr(0, place);
    if (place == std::string_view::npos) break;
    rest.remove_prefix(place);
    if (rest.starts_with(kTitle)) {
      page += title;
      rest.remove_prefix(kTitle.size());
    } else if (rest.starts_with(kData)) {
      page += data;
      rest.remove_prefix(kData.size());
    } else {
      page += rest.front();
      rest.remove_prefix(1);
    }
  }
  return page;
}

absl::Status WriteFailed(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, ToAbsl("cannot write " + path));
}

absl::Status WriteAll(const std::string& path, const std::string& text) {
  const int error = WriteWholeFile(path, text);
  return error == 0 ? absl::OkStatus() : WriteFailed(path, error);
}

}  // namespace

absl::StatusOr<std::string> RenderReport(std::span<const Results> runs,
                                         const ReportOptions& options) {
  if (runs.empty()) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "no runs to report: give the files that -p kvbench.results=FILE wrote");
  }
  if (runs.size() > kMostRuns) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      std::to_string(runs.size()) + " runs; a page holds at most " +
                          std::to_string(kMostRuns) + ": make several");
  }
  DUNLIN_ASSIGN_OR_RETURN(const std::string data, DataOf(runs, options));
  return FillIn(EscapeHtml(options.title), data);
}

absl::Status WriteReport(std::span<const Results> runs, const std::string& path,
                         const ReportOptions& options) {
  DUNLIN_ASSIGN_OR_RETURN(const std::string page, RenderReport(runs, options));
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return WriteAll(path, page);
  }
  const std::string partial = path + ".partial";
  if (const absl::Status written = WriteAll(partial, page); !written.ok()) {
    std::filesystem::remove(partial, error);
    return written;
  }
  std::filesystem::rename(partial, path, error);
  if (error) return WriteFailed(path, error.value());
  return absl::OkStatus();
}

}  // namespace dunlin::kvbench
