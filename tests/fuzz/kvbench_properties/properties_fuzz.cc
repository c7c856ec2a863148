#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/output/output_options.h"
#include "bench/kvbench/properties.h"
#include "bench/kvbench/workload/workload_config.h"
#include "common/base/check.h"

namespace dunlin::kvbench {
namespace {

// So that it reads as one setting: what separates, ends or continues is escaped.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else if (c == '\t') {
      escaped += "\\t";
    } else if (c == '\f') {
      escaped += "\\f";
    } else {
      if (c == ' ' || c == '=' || c == ':' || c == '#' || c == '!' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// Whatever the file, it is refused or read; what is read can be written and is read as the same.
void CheckText(std::string_view text) {
  Properties properties;
  if (!properties.AddText(text, "fuzz").ok()) return;
  std::string written;
  for (const auto& [name, value] : properties.all()) {
    written += Escaped(name) + "=" + Escaped(value) + "\n";
  }
  Properties again;
  DUNLIN_CHECK_OK(again.AddText(written, "again"));
  DUNLIN_CHECK(again.all() == properties.all());

  // A file that is named is another parser's.
  if (properties.Has("fieldlengthhistogram")) return;
  for (const Phase phase : {Phase::kLoad, Phase::kRun}) {
    const auto workload = ReadWorkload(properties);
    if (!workload.ok()) return;
    const auto plan = ReadPlan(properties, *workload, phase);
    if (!plan.ok()) return;
    DUNLIN_CHECK(plan->threads >= 1 && plan->batch >= 1);
    const auto output = ReadOutputOptions(properties, *plan);
    if (output.ok()) DUNLIN_CHECK(output->status_seconds > 0);
  }
}

}  // namespace
}  // namespace dunlin::kvbench

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dunlin::kvbench::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
