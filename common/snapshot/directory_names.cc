#include "common/snapshot/directory_names.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/snapshot/manifest.h"

namespace dunlin {
namespace {

constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr size_t kIdDigits = 20;
constexpr std::string_view kFormatPrefix = "dunlin-snapshots ";
constexpr size_t kHexDigits = 16;

bool ParseHex(std::string_view text, uint64_t* number) {
  if (text.size() != kHexDigits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string Join(std::string_view folder, std::string_view name) {
  std::string path(folder);
  path += '/';
  path += name;
  return path;
}

std::string SnapshotName(uint64_t id) {
  const std::string digits = std::to_string(id);
  return std::string(kSnapshotPrefix) + std::string(kIdDigits - digits.size(), '0') + digits;
}

std::optional<SnapshotNameParts> ParseSnapshotName(std::string_view name) {
  if (!name.starts_with(kSnapshotPrefix)) return std::nullopt;
  name.remove_prefix(kSnapshotPrefix.size());
  if (name.size() < kIdDigits) return std::nullopt;
  SnapshotNameParts parts;
  const char* const end = name.data() + kIdDigits;
  const auto [found, error] = std::from_chars(name.data(), end, parts.id);
  if (error != std::errc() || found != end) return std::nullopt;
  parts.suffix = name.substr(kIdDigits);
  return parts;
}

bool IsLeftover(std::string_view name) {
  if (name == kLiveName || name == kPassName || name == kNewFormatName) return true;
  const std::optional<SnapshotNameParts> parts = ParseSnapshotName(name);
  return parts && (parts->suffix == kUnfinishedSuffix || parts->suffix == kDeletedSuffix);
}

bool MayPrecedeFormat(std::string_view name) {
  // The last is in the root of a file system of its own.
  return name == kLockName || name == kNewFormatName || name == "lost+found";
}

std::string EncodeFormat(const DirectoryFormat& format) {
  char digits[kHexDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(format.hash_seed));
  return std::string(kFormatPrefix) + std::to_string(kSnapshotFormatVersion) + " " + digits + " " +
         format.store_id + "\n";
}

absl::StatusOr<DirectoryFormat> ParseFormat(std::string_view text) {
  const auto damaged = [&] {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "FORMAT should be 'dunlin-snapshots VERSION SEED STORE', found '" +
                          EscapeText(text.substr(0, 100)) + "'");
  };
  if (!text.starts_with(kFormatPrefix) || !text.ends_with('\n')) return damaged();
  std::string_view rest = text.substr(kFormatPrefix.size());
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), version);
  if (error != std::errc() || *end != ' ') return damaged();
  if (version != kSnapshotFormatVersion) {
    return MakeStatus(absl::StatusCode::kUnimplemented,
                      "the directory has format " + std::to_string(version) +
                          ", this release knows format " + std::to_string(kSnapshotFormatVersion) +
                          "; use the release that wrote it, or a later one");
  }
  rest.remove_prefix(end - rest.data() + 1);
  if (rest.size() != 2 * kHexDigits + 2 || rest[kHexDigits] != ' ') return damaged();
  DirectoryFormat format;
  uint64_t store = 0;
  format.store_id = rest.substr(kHexDigits + 1, kHexDigits);
  if (!ParseHex(rest.substr(0, kHexDigits), &format.hash_seed) ||
      !ParseHex(format.store_id, &store) || EncodeFormat(format) != text) {
    return damaged();
  }
  return format;
}

}  // namespace dunlin
