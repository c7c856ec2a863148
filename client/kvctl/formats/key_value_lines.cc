#include "client/kvctl/formats/key_value_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// The longest form of a byte is \xHH.
size_t LongestLine(const RecordLimits& limits) {
  return 4 * (limits.max_key + limits.max_value) + 1;
}

}  // namespace

KeyValueLinesReader::KeyValueLinesReader(Encoding encoding, const RecordLimits& limits,
                                         ByteSource& source)
    : encoding_(encoding), limits_(limits), lines_(source, LongestLine(limits)) {}

absl::StatusOr<bool> KeyValueLinesReader::Next(Record* record) {
  std::string_view line;
  absl::StatusOr<bool> more = lines_.Next(&line);
  if (!more.ok() || !*more) return more;
  if (absl::Status status = Parse(line, record); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", lines_.line_number(), ": ", status.message()));
  }
  return true;
}

absl::Status KeyValueLinesReader::Parse(std::string_view line, Record* record) const {
  record->ttl_ms.reset();
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) {
    return absl::InvalidArgumentError("expected a TAB between key and value, found none");
  }
  absl::Status status = Field("key", line.substr(0, tab), 1, limits_.max_key, &record->key);
  if (!status.ok()) return status;
  return Field("value", line.substr(tab + 1), 0, limits_.max_value, &record->value);
}

absl::Status KeyValueLinesReader::Field(std::string_view what, std::string_view text, size_t least,
                                        size_t most, std::string* out) const {
  absl::StatusOr<std::string> bytes = DecodeBytes(encoding_, text);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), ": ", bytes.status().message()));
  }
  *out = *std::move(bytes);
  if (out->size() >= least && out->size() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", ToAbsl(what), " has ", out->size(),
                                                 " bytes, expected ", least, " to ", most));
}

absl::Status KeyValueLinesWriter::Write(const Record& record) {
  std::string line = EncodeBytes(encoding_, record.key);
  line.push_back('\t');
  line += EncodeBytes(encoding_, record.value);
  line.push_back('\n');
  return sink_.Write(line);
}

}  // namespace dunlin::kvctl
