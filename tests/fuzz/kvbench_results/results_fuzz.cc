#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bench/kvbench/report/report.h"
#include "bench/kvbench/report/results_file.h"
#include "common/base/check.h"

namespace dunlin::kvbench {
namespace {

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

// Whatever the file, it is refused or becomes a page in which it is nothing but text.
void CheckText(const std::string& text) {
  static const std::string empty =
      RenderReport(std::span(&Results::default_instance(), 1), {}).value();
  const auto results = ParseResults(text, "fuzz");
  if (!results.ok()) {
    DUNLIN_CHECK(results.status().message().find("fuzz") != absl::string_view::npos);
    return;
  }
  const auto page = RenderReport(std::span(&*results, 1), {.title = text, .baseline = text});
  if (!page.ok()) return;  // a text that is not UTF-8
  for (const std::string_view mark : {"<script", "</script", "<!--", "<title", "<h1"}) {
    DUNLIN_CHECK_EQ(Count(*page, mark), Count(empty, mark));
  }
}

}  // namespace
}  // namespace dunlin::kvbench

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dunlin::kvbench::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
