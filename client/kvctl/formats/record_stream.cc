#include "client/kvctl/formats/record_stream.h"

#include "client/kvctl/formats/debian_index.h"
#include "client/kvctl/formats/json_lines.h"
#include "client/kvctl/formats/key_value_lines.h"

namespace dunlin::kvctl {

std::unique_ptr<RecordReader> MakeRecordReader(Format format, Encoding encoding,
                                               const RecordLimits& limits, ByteSource& source) {
  switch (format) {
    case Format::kDebianIndex:
      return std::make_unique<DebianIndexReader>(limits, source);
    case Format::kKeyValueLines:
      return std::make_unique<KeyValueLinesReader>(encoding, limits, source);
    case Format::kJsonLines:
      break;
  }
  return std::make_unique<JsonLinesReader>(limits, source);
}

std::unique_ptr<RecordWriter> MakeRecordWriter(Format format, Encoding encoding, ByteSink& sink) {
  switch (format) {
    case Format::kDebianIndex:
      return std::make_unique<DebianIndexWriter>(sink);
    case Format::kKeyValueLines:
      return std::make_unique<KeyValueLinesWriter>(encoding, sink);
    case Format::kJsonLines:
      break;
  }
  return std::make_unique<JsonLinesWriter>(encoding, sink);
}

}  // namespace dunlin::kvctl
