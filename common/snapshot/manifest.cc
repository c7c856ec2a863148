#include "common/snapshot/manifest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

constexpr std::string_view kFirstWord = "dunlin-snapshot";
constexpr std::string_view kNone = "none";

std::string Hex(uint64_t number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, number >>= 4) text[i] = kDigits[number & 15];
  return text;
}

std::string Hex(XXH128_hash_t hash) { return Hex(hash.high64) + Hex(hash.low64); }

bool IsHex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

void AddLine(std::string* text, std::string_view name, std::string_view value) {
  text->append(name);
  text->push_back(' ');
  text->append(value);
  text->push_back('\n');
}

void AddNumber(std::string* text, std::string_view name, uint64_t value) {
  AddLine(text, name, std::to_string(value));
}

std::string FileLine(const SnapshotFile& file) {
  return file.name + " " + std::to_string(file.bytes) + " " + file.checksum;
}

std::string ChecksumOf(std::string_view text) { return Hex(XXH3_64bits(text.data(), text.size())); }

absl::Status Bad(std::string_view why) {
  return MakeStatus(absl::StatusCode::kDataLoss, "the manifest is damaged: " + std::string(why));
}

// Takes "name value" lines in the order in which they are asked for; remembers the first error.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool failed() const { return !why_.empty(); }
  const std::string& why() const { return why_; }
  std::string_view rest() const { return rest_; }

  bool NextIs(std::string_view name) const {
    return rest_.starts_with(name) && rest_.substr(name.size()).starts_with(' ');
  }

  std::string_view Text(std::string_view name) {
    if (failed()) return {};
    const size_t end = rest_.find('\n');
    if (!NextIs(name) || end == std::string_view::npos) {
      Fail("expected a line '" + std::string(name) + " ...', found '" +
           EscapeText(rest_.substr(0, std::min<size_t>(end, 60))) + "'");
      return {};
    }
    const std::string_view value = rest_.substr(name.size() + 1, end - name.size() - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }

  template <typename T>
  T Number(std::string_view name, int base = 10) {
    return ToNumber<T>(name, Text(name), base);
  }

  template <typename T>
  T ToNumber(std::string_view name, std::string_view text, int base = 10) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (!failed() && (error != std::errc() || end != text.data() + text.size())) {
      Fail("'" + std::string(name) + "' is no number that fits: '" + EscapeText(text) + "'");
    }
    return number;
  }

  bool YesNo(std::string_view name) {
    const std::string_view text = Text(name);
    if (!failed() && text != "yes" && text != "no") {
      Fail("'" + std::string(name) + "' is neither yes nor no: '" + EscapeText(text) + "'");
    }
    return text == "yes";
  }

  void Fail(std::string why) {
    if (!failed()) why_ = std::move(why);
  }

 private:
  std::string_view rest_;
  std::string why_;
};

SnapshotFile ReadFileLine(LineReader* lines) {
  std::string_view text = lines->Text("file");
  SnapshotFile file;
  const size_t first = text.find(' ');
  const size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) {
    lines->Fail("'file' needs a name, a size and a checksum, found '" + EscapeText(text) + "'");
    return file;
  }
  file.name = text.substr(0, first);
  file.bytes = lines->ToNumber<uint64_t>("file", text.substr(first + 1, second - first - 1));
  file.checksum = text.substr(second + 1);
  if (!IsPlainFileName(file.name) || !IsHex(file.checksum)) {
    lines->Fail("'file' has a name or a checksum that can't be one: '" + EscapeText(text) + "'");
  }
  return file;
}

void ReadCounts(LineReader* lines, SnapshotCounts* counts) {
  counts->started_unix_ms = lines->Number<int64_t>("started");
  counts->finished_unix_ms = lines->Number<int64_t>("finished");
  counts->entries = lines->Number<uint64_t>("entries");
  counts->records = lines->Number<uint64_t>("records");
  counts->expiring = lines->Number<uint64_t>("expiring");
  counts->bytes = lines->Number<uint64_t>("bytes");
  counts->highest_version = lines->Number<uint64_t>("highest_version");
}

void ReadFiles(LineReader* lines, SnapshotInfo* info) {
  while (!lines->failed() && lines->NextIs("file")) {
    info->files.push_back(ReadFileLine(lines));
    const size_t count = info->files.size();
    if (count > 1 && info->files[count - 2].name >= info->files[count - 1].name) {
      lines->Fail("the files are not in the order of their names");
    }
  }
  info->content = lines->Text("content");
  if (info->content != ContentChecksum(info->files)) {
    lines->Fail("its checksum over the files doesn't match them");
  }
}

}  // namespace

bool IsPlainFileName(std::string_view name) {
  if (name.empty() || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  });
}

std::string ContentChecksum(const std::vector<SnapshotFile>& files) {
  std::string text;
  for (const SnapshotFile& file : files) AddLine(&text, "file", FileLine(file));
  return Hex(XXH3_128bits(text.data(), text.size()));
}

uint64_t SnapshotInfo::file_bytes() const {
  uint64_t sum = 0;
  for (const SnapshotFile& file : files) sum += file.bytes;
  return sum;
}

std::string EncodeManifest(const SnapshotInfo& info) {
  std::string text;
  AddNumber(&text, kFirstWord, kSnapshotFormatVersion);
  AddNumber(&text, "id", info.id);
  AddLine(&text, "previous", info.previous ? std::to_string(*info.previous) : std::string(kNone));
  AddLine(&text, "full", info.full ? "yes" : "no");
  AddNumber(&text, "layout", info.layout_version);
  AddLine(&text, "release", info.release);
  AddLine(&text, "hash_seed", Hex(info.hash_seed));
  AddLine(&text, "started", std::to_string(info.counts.started_unix_ms));
  AddLine(&text, "finished", std::to_string(info.counts.finished_unix_ms));
  AddNumber(&text, "entries", info.counts.entries);
  AddNumber(&text, "records", info.counts.records);
  AddNumber(&text, "expiring", info.counts.expiring);
  AddNumber(&text, "bytes", info.counts.bytes);
  AddNumber(&text, "highest_version", info.counts.highest_version);
  AddNumber(&text, "changed", info.changed);
  AddNumber(&text, "deleted", info.deleted);
  for (const SnapshotFile& file : info.files) AddLine(&text, "file", FileLine(file));
  AddLine(&text, "content", ContentChecksum(info.files));
  AddLine(&text, "checksum", ChecksumOf(text));
  return text;
}

absl::StatusOr<SnapshotInfo> ParseManifest(std::string_view text) {
  const std::string last = "\nchecksum ";
  const size_t end = text.rfind(last);
  if (end == std::string_view::npos) {
    return Bad("its last line should be its checksum; it may have been cut short");
  }
  const std::string_view covered = text.substr(0, end + 1);
  if (text.substr(end + last.size()) != ChecksumOf(covered) + "\n") {
    return Bad("its contents don't match its checksum");
  }
  LineReader lines(covered);
  const auto format = lines.Number<uint32_t>(kFirstWord);
  if (!lines.failed() && format != kSnapshotFormatVersion) {
    return MakeStatus(absl::StatusCode::kUnimplemented,
                      "the snapshot has format " + std::to_string(format) +
                          ", this release reads format " + std::to_string(kSnapshotFormatVersion) +
                          "; use the release that wrote it, or a later one");
  }
  SnapshotInfo info;
  info.id = lines.Number<uint64_t>("id");
  const std::string_view previous = lines.Text("previous");
  if (previous != kNone) info.previous = lines.ToNumber<uint64_t>("previous", previous);
  info.full = lines.YesNo("full");
  info.layout_version = lines.Number<uint32_t>("layout");
  info.release = lines.Text("release");
  info.hash_seed = lines.Number<uint64_t>("hash_seed", 16);
  ReadCounts(&lines, &info.counts);
  info.changed = lines.Number<uint64_t>("changed");
  info.deleted = lines.Number<uint64_t>("deleted");
  ReadFiles(&lines, &info);
  if (!lines.failed() && !lines.rest().empty()) {
    lines.Fail("unexpected lines after 'content'");
  }
  if (lines.failed()) return Bad(lines.why());
  return info;
}

}  // namespace dunlin
