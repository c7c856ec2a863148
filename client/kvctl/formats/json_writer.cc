#include "client/kvctl/formats/json_writer.h"

#include <cmath>
#include <cstdio>

#include "client/kvctl/formats/byte_codec.h"
#include "client/kvctl/formats/utf8.h"
#include "common/base/text.h"

namespace dunlin::kvctl {

void JsonWriter::Begin(char bracket) {
  Separate();
  out_->push_back(bracket);
  has_members_.push_back(false);
}

void JsonWriter::End(char bracket) {
  out_->push_back(bracket);
  has_members_.pop_back();
}

void JsonWriter::Separate() {
  if (after_name_) {
    after_name_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) out_->push_back(',');
  has_members_.back() = true;
}

JsonWriter& JsonWriter::Name(std::string_view name) {
  Separate();
  Quote(name);
  out_->push_back(':');
  after_name_ = true;
  return *this;
}

void JsonWriter::Value(std::string_view utf8) {
  Separate();
  Quote(utf8);
}

void JsonWriter::Value(bool value) {
  Separate();
  *out_ += value ? "true" : "false";
}

void JsonWriter::Value(double value) {
  if (!std::isfinite(value)) return Null();
  Separate();
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  *out_ += text;
}

void JsonWriter::Null() {
  Separate();
  *out_ += "null";
}

void JsonWriter::BytesMember(std::string_view name, std::string_view bytes, Encoding encoding) {
  std::string full_name(name);
  if (encoding == Encoding::kHex) {
    Name(full_name + "_hex").Value(EncodeHex(bytes));
  } else if (encoding == Encoding::kBase64 || FindInvalidUtf8(bytes) != std::string_view::npos) {
    Name(full_name + "_base64").Value(EncodeBase64(bytes));
  } else {
    Name(full_name).Value(bytes);
  }
}

void JsonWriter::Quote(std::string_view utf8) {
  out_->push_back('"');
  *out_ += EscapeJson(utf8);
  out_->push_back('"');
}

}  // namespace dunlin::kvctl
