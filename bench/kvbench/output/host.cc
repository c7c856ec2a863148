#include "bench/kvbench/output/host.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "common/base/read_file.h"

namespace dunlin::kvbench {
namespace {

std::string Processor() {
  const absl::StatusOr<std::string> text = ReadWholeFile("/proc/cpuinfo", size_t{16} << 20);
  if (!text.ok()) return {};
  constexpr std::string_view kName = "model name";
  const size_t name = text->find(kName);
  if (name == std::string::npos) return {};
  const size_t colon = text->find(": ", name);
  const size_t end = text->find('\n', name);
  if (colon == std::string::npos || end == std::string::npos || colon > end) return {};
  return text->substr(colon + 2, end - colon - 2);
}

}  // namespace

Host DescribeHost() {
  Host host;
  host.set_processor(Processor());
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 0) host.set_cores(static_cast<uint32_t>(cores));
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) {
    host.set_memory_bytes(static_cast<double>(pages) * static_cast<double>(page));
  }
  utsname name;
  if (uname(&name) == 0) host.set_kernel(std::string(name.sysname) + " " + name.release);
  return host;
}

}  // namespace dunlin::kvbench
