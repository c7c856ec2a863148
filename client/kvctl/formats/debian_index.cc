#include "client/kvctl/formats/debian_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// The fields that make up the key, in its order.
constexpr std::array<std::string_view, 3> kKeyFields = {"Package", "Architecture", "Version"};

bool IsKeyCharacter(char c) { return c > ' ' && c < 0x7F && c != '/' && c != '#'; }

bool IsContinuation(std::string_view line) { return line[0] == ' ' || line[0] == '\t'; }

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class KeyFields {
 public:
  // `line` is not empty.
  absl::Status AddLine(std::string_view line) {
    if (IsContinuation(line)) {
      if (has_field_) return absl::OkStatus();
      return absl::InvalidArgumentError("the stanza begins with a continuation line");
    }
    const size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("expected \"Field: value\", found \"",
                                                     EncodePrintable(line.substr(0, 60)), "\""));
    }
    has_field_ = true;
    for (size_t i = 0; i < kKeyFields.size(); ++i) {
      if (!absl::EqualsIgnoreCase(ToAbsl(line.substr(0, colon)), ToAbsl(kKeyFields[i]))) continue;
      return SetField(i, Trim(line.substr(colon + 1)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Key() const {
    for (size_t i = 0; i < kKeyFields.size(); ++i) {
      if (values_[i].empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the stanza has no field ", ToAbsl(kKeyFields[i])));
      }
    }
    return absl::StrCat(values_[0], "/", values_[1], "/", values_[2]);
  }

 private:
  absl::Status SetField(size_t i, std::string_view value) {
    if (!values_[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the field ", ToAbsl(kKeyFields[i]), " is given twice"));
    }
    if (value.empty() || !std::all_of(value.begin(), value.end(), IsKeyCharacter)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the field ", ToAbsl(kKeyFields[i]), " is \"", EncodePrintable(value),
                       "\", expected printable ASCII without '/', '#' and white space"));
    }
    values_[i] = value;
    return absl::OkStatus();
  }

  std::array<std::string, kKeyFields.size()> values_;
  bool has_field_ = false;
};

// Whether `text` is '#' and a number from 2, as NumberDuplicate appends it.
bool IsDuplicateNumber(std::string_view text) {
  if (text.size() < 2 || text[0] != '#') return false;
  const std::string_view digits = text.substr(1);
  return digits[0] != '0' && digits != "1" &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::string> DebianStanzaKey(std::string_view text) {
  if (!text.ends_with('\n')) {
    return absl::InvalidArgumentError("the stanza does not end in a newline");
  }
  KeyFields fields;
  while (!text.empty()) {
    const size_t length = text.find('\n');
    if (length == 0) return absl::InvalidArgumentError("the stanza holds an empty line");
    DUNLIN_RETURN_IF_ERROR(fields.AddLine(text.substr(0, length)));
    text.remove_prefix(length + 1);
  }
  return fields.Key();
}

DebianIndexReader::DebianIndexReader(const RecordLimits& limits, ByteSource& source)
    : limits_(limits), lines_(source, limits.max_value) {}

absl::StatusOr<bool> DebianIndexReader::Next(Record* record) {
  record->ttl_ms.reset();
  DUNLIN_ASSIGN_OR_RETURN(const bool more, TakeStanza(&record->value));
  if (!more) return false;
  absl::StatusOr<std::string> key = DebianStanzaKey(record->value);
  if (!key.ok()) return AtStanza(key.status());
  NumberDuplicate(&*key);
  if (key->size() > limits_.max_key) {
    return AtStanza(absl::InvalidArgumentError(
        absl::StrCat("the key has ", key->size(), " bytes, the limit is ", limits_.max_key)));
  }
  record->key = *std::move(key);
  return true;
}

absl::StatusOr<bool> DebianIndexReader::TakeStanza(std::string* text) {
  text->clear();
  while (true) {
    std::string_view line;
    absl::StatusOr<bool> more = lines_.Next(&line);
    if (text->empty()) first_line_ = lines_.line_number();
    if (!more.ok()) {
      if (absl::IsInvalidArgument(more.status())) DUNLIN_RETURN_IF_ERROR(SkipStanza());
      return more.status();
    }
    if (!*more) return !text->empty();
    if (line.empty()) {
      if (text->empty()) continue;
      return true;
    }
    if (!lines_.terminated()) {
      return AtStanza(
          absl::InvalidArgumentError("the input ends inside a line; the stanza is cut off"));
    }
    if (text->size() + line.size() + 1 > limits_.max_value) {
      DUNLIN_RETURN_IF_ERROR(SkipStanza());
      return AtStanza(absl::InvalidArgumentError(absl::StrCat(
          "the stanza is longer than the value limit of ", limits_.max_value, " bytes")));
    }
    text->append(line);
    text->push_back('\n');
  }
}

absl::Status DebianIndexReader::SkipStanza() {
  while (true) {
    std::string_view line;
    absl::StatusOr<bool> more = lines_.Next(&line);
    if (!more.ok() && !absl::IsInvalidArgument(more.status())) return more.status();
    if (more.ok() && (!*more || line.empty())) return absl::OkStatus();
  }
}

absl::Status DebianIndexReader::AtStanza(const absl::Status& status) const {
  return WithContext(status, absl::StrCat("stanza from line ", first_line_));
}

void DebianIndexReader::NumberDuplicate(std::string* key) {
  const uint32_t times = ++seen_[*key];
  if (times == 1) return;
  ++renamed_duplicates_;
  absl::StrAppend(key, "#", times);
}

absl::Status DebianIndexWriter::Write(const Record& record) {
  absl::StatusOr<std::string> expected = DebianStanzaKey(record.value);
  if (!expected.ok()) {
    return WithContext(expected.status(),
                       absl::StrCat("the value of \"", EncodePrintable(record.key),
                                    "\" is not a stanza of a package index"));
  }
  const std::string_view key = record.key;
  if (!key.starts_with(*expected) ||
      (key != *expected && !IsDuplicateNumber(key.substr(expected->size())))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the stanza of key \"", EncodePrintable(record.key), "\" belongs to \"", *expected, "\""));
  }
  DUNLIN_RETURN_IF_ERROR(sink_.Write(record.value));
  return sink_.Write("\n");
}

}  // namespace dunlin::kvctl
