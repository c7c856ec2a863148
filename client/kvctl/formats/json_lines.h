#pragma once

#include "client/kvctl/formats/line_reader.h"
#include "client/kvctl/formats/record_stream.h"

namespace dunlin::kvctl {

// JSON lines: one object a line, ended by '\n' (the last '\n' may be missing).
//
//   object = { key-member, value-member [, ttl-member] }   in any order
//   key-member   = "key": string | "key_base64": string | "key_hex": string
//   value-member = "value": string | "value_base64": string | "value_hex": string
//   ttl-member   = "ttl_ms": integer, 1 to 2^63 - 1
//
// A plain string stands for its UTF-8 bytes. Any other member, a member twice, a key or value in
// two forms, and an empty line are errors.
class JsonLinesReader final : public RecordReader {
 public:
  JsonLinesReader(const RecordLimits& limits, ByteSource& source);
  absl::StatusOr<bool> Next(Record* record) override;
  uint64_t line_number() const override { return lines_.line_number(); }

 private:
  const RecordLimits limits_;
  LineReader lines_;
};

// kText: a plain string where the bytes are UTF-8, else base64. kHex and kBase64: always that.
class JsonLinesWriter final : public RecordWriter {
 public:
  JsonLinesWriter(Encoding encoding, ByteSink& sink) : encoding_(encoding), sink_(sink) {}
  absl::Status Write(const Record& record) override;
  bool keeps_ttl() const override { return true; }

 private:
  const Encoding encoding_;
  ByteSink& sink_;
};

}  // namespace dunlin::kvctl
