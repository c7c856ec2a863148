#pragma once

#include "client/kvctl/formats/line_reader.h"
#include "client/kvctl/formats/record_stream.h"

namespace dunlin::kvctl {

// One record a line: key, TAB, value, '\n' (the last '\n' may be missing).
//
// kText: bytes stand for themselves, but for the backslash escapes of byte_codec.h; a TAB after
// the first one belongs to the value, and so does a '\r' at the end. kHex, kBase64: both fields
// in that encoding. The format has no place for a TTL.
class KeyValueLinesReader final : public RecordReader {
 public:
  KeyValueLinesReader(Encoding encoding, const RecordLimits& limits, ByteSource& source);
  absl::StatusOr<bool> Next(Record* record) override;
  uint64_t line_number() const override { return lines_.line_number(); }

 private:
  absl::Status Parse(std::string_view line, Record* record) const;
  absl::Status Field(std::string_view what, std::string_view text, size_t least, size_t most,
                     std::string* out) const;

  const Encoding encoding_;
  const RecordLimits limits_;
  LineReader lines_;
};

class KeyValueLinesWriter final : public RecordWriter {
 public:
  KeyValueLinesWriter(Encoding encoding, ByteSink& sink) : encoding_(encoding), sink_(sink) {}
  absl::Status Write(const Record& record) override;
  bool keeps_ttl() const override { return false; }

 private:
  const Encoding encoding_;
  ByteSink& sink_;
};

}  // namespace dunlin::kvctl
