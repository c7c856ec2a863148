#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/manifest.h"

namespace {

// With its last two lines as they ought to be, so that the parser gets to what is before them.
std::string Sealed(std::string_view text) {
  std::string sealed(text.substr(0, text.rfind("\ncontent ") + 1));
  std::string file_lines;
  for (size_t at = 0; at < sealed.size();) {
    const size_t end = sealed.find('\n', at);
    const std::string line = sealed.substr(at, end - at + 1);
    if (line.starts_with("file ")) file_lines += line;
    at = end + 1;
  }
  char digits[33];
  const XXH128_hash_t content = XXH3_128bits(file_lines.data(), file_lines.size());
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(content.high64),
                static_cast<unsigned long long>(content.low64));
  sealed += std::string("content ") + digits + "\n";
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(sealed.data(), sealed.size())));
  return sealed + "checksum " + digits + "\n";
}

// What is read can be written and read back as the same.
void Parse(std::string_view text) {
  const auto info = dunlin::ParseManifest(text);
  if (!info.ok()) return;
  for (const dunlin::SnapshotFile& file : info->files) {
    DUNLIN_CHECK(dunlin::IsPlainFileName(file.name));
    DUNLIN_CHECK(file.name.find('/') == std::string::npos);
  }
  const auto again = dunlin::ParseManifest(dunlin::EncodeManifest(*info));
  DUNLIN_CHECK_OK(again);
  DUNLIN_CHECK(*again == *info);
}

}  // namespace

// The manifest, and beside it the other texts of a snapshot directory: FORMAT and the names.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Parse(text);
  if (text.find("\ncontent ") != std::string_view::npos) Parse(Sealed(text));
  if (const auto format = dunlin::ParseFormat(text); format.ok()) {
    DUNLIN_CHECK(dunlin::EncodeFormat(*format) == text);
  }
  if (const auto parts = dunlin::ParseSnapshotName(text)) {
    DUNLIN_CHECK(dunlin::SnapshotName(parts->id) + std::string(parts->suffix) == text);
  }
  return 0;
}
