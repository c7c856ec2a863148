#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

// Appends JSON to a string, on one line, with the commas where they belong. Not thread safe.
//
//   JsonWriter json(&text);
//   json.BeginObject();
//   json.Name("version").Value(7);
//   json.EndObject();
//
// Calls must form one value: BeginX and EndX in pairs, a Name before each value in an object and
// nowhere else. Strings are UTF-8; a byte that isn't becomes U+FFFD, so use BytesMember for bytes
// of unknown nature.
class JsonWriter {
 public:
  // `out` must outlive the writer.
  explicit JsonWriter(std::string* out) : out_(out) {}

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  JsonWriter& Name(std::string_view name);

  void Value(std::string_view utf8);
  void Value(const char* utf8) { Value(std::string_view(utf8)); }
  void Value(bool value);
  void Value(double value);  // not a number or infinite: null
  void Null();
  template <std::integral T>
  void Value(T value) {
    Separate();
    *out_ += std::to_string(value);
  }

  // A member called `name`, `name`_hex or `name`_base64, as `encoding` and the bytes demand:
  // kText is a plain string for valid UTF-8, else base64.
  void BytesMember(std::string_view name, std::string_view bytes, Encoding encoding);

 private:
  void Begin(char bracket);
  void End(char bracket);
  void Separate();
  void Quote(std::string_view utf8);

  std::string* out_;
  std::vector<bool> has_members_;  // one for each open bracket
  bool after_name_ = false;
};

}  // namespace dunlin::kvctl
