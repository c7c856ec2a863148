#include "client/kvctl/formats/json_lines.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "client/kvctl/formats/json_scanner.h"
#include "client/kvctl/formats/json_writer.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// Every byte of key and value written as \u00XX, and room for names and white space.
size_t LongestLine(const RecordLimits& limits) {
  return 6 * (limits.max_key + limits.max_value) + 4096;
}

absl::Status AtColumn(size_t column, std::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("column ", column, ": ", ToAbsl(message)));
}

class ObjectParser {
 public:
  ObjectParser(std::string_view text, const RecordLimits& limits, Record* record)
      : scanner_(text), limits_(limits), record_(record) {
    *record = Record();
  }

  absl::Status Parse() {
    DUNLIN_RETURN_IF_ERROR(scanner_.Expect('{'));
    if (!scanner_.Accept('}')) {
      do {
        DUNLIN_RETURN_IF_ERROR(Member());
      } while (scanner_.Accept(','));
      DUNLIN_RETURN_IF_ERROR(scanner_.Expect('}'));
    }
    DUNLIN_RETURN_IF_ERROR(scanner_.ExpectEnd());
    if (!has_key_) return absl::InvalidArgumentError("no member \"key\"");
    if (!has_value_) return absl::InvalidArgumentError("no member \"value\"");
    return absl::OkStatus();
  }

 private:
  absl::Status Member() {
    const size_t column = scanner_.NextColumn();
    std::string name;
    DUNLIN_RETURN_IF_ERROR(scanner_.TakeString(&name));
    DUNLIN_RETURN_IF_ERROR(scanner_.Expect(':'));
    if (name == "ttl_ms") return Ttl(column);

    std::string_view base = name;
    Encoding encoding = Encoding::kText;
    if (base.ends_with("_hex")) {
      encoding = Encoding::kHex;
      base.remove_suffix(4);
    } else if (base.ends_with("_base64")) {
      encoding = Encoding::kBase64;
      base.remove_suffix(7);
    }
    if (base == "key")
      return Bytes(column, "key", encoding, limits_.max_key, &has_key_, &record_->key);
    if (base == "value") {
      return Bytes(column, "value", encoding, limits_.max_value, &has_value_, &record_->value);
    }
    return AtColumn(column, absl::StrCat("unknown member \"", EncodePrintable(name),
                                         "\"; expected key, value (or either with _hex or "
                                         "_base64) and ttl_ms"));
  }

  absl::Status Ttl(size_t column) {
    if (record_->ttl_ms.has_value()) return AtColumn(column, "\"ttl_ms\" is given twice");
    absl::StatusOr<uint64_t> ttl_ms = scanner_.TakeUnsigned();
    if (!ttl_ms.ok()) return ttl_ms.status();
    if (*ttl_ms == 0 || *ttl_ms > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return AtColumn(column, absl::StrCat("\"ttl_ms\" is ", *ttl_ms,
                                           ", expected 1 to 2^63 - 1 (leave it out for a record "
                                           "that does not expire)"));
    }
    record_->ttl_ms = *ttl_ms;
    return absl::OkStatus();
  }

  absl::Status Bytes(size_t column, std::string_view what, Encoding encoding, size_t limit,
                     bool* seen, std::string* out) {
    if (std::exchange(*seen, true)) {
      return AtColumn(column, absl::StrCat("the ", ToAbsl(what), " is given twice"));
    }
    DUNLIN_RETURN_IF_ERROR(scanner_.TakeString(out));
    if (encoding != Encoding::kText) {
      absl::StatusOr<std::string> decoded =
          encoding == Encoding::kHex ? DecodeHex(*out) : DecodeBase64(*out);
      if (!decoded.ok()) {
        return AtColumn(column, std::string(decoded.status().message()));
      }
      *out = *std::move(decoded);
    }
    if (out->size() <= limit && !(out->empty() && what == "key")) return absl::OkStatus();
    return AtColumn(column,
                    absl::StrCat("the ", ToAbsl(what), " has ", out->size(), " bytes, expected ",
                                 what == "key" ? 1 : 0, " to ", limit));
  }

  JsonScanner scanner_;
  const RecordLimits& limits_;
  Record* const record_;
  bool has_key_ = false;
  bool has_value_ = false;
};

}  // namespace

JsonLinesReader::JsonLinesReader(const RecordLimits& limits, ByteSource& source)
    : limits_(limits), lines_(source, LongestLine(limits)) {}

absl::StatusOr<bool> JsonLinesReader::Next(Record* record) {
  std::string_view line;
  absl::StatusOr<bool> more = lines_.Next(&line);
  if (!more.ok() || !*more) return more;
  if (absl::Status status = ObjectParser(line, limits_, record).Parse(); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", lines_.line_number(), ", ", status.message()));
  }
  return true;
}

absl::Status JsonLinesWriter::Write(const Record& record) {
  std::string line;
  JsonWriter json(&line);
  json.BeginObject();
  json.BytesMember("key", record.key, encoding_);
  json.BytesMember("value", record.value, encoding_);
  if (record.ttl_ms.has_value()) json.Name("ttl_ms").Value(*record.ttl_ms);
  json.EndObject();
  line.push_back('\n');
  return sink_.Write(line);
}

}  // namespace dunlin::kvctl
