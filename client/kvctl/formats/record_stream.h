#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/formats/byte_stream.h"
#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

// Reads records one after the other, in memory bounded by the limits. Not thread safe.
class RecordReader {
 public:
  virtual ~RecordReader() = default;

  // Stores the next record in *record and returns true; returns false at the end of the stream.
  // kInvalidArgument: a record was malformed or over a limit. The message says in which line and
  // why; the reader has skipped it and may go on. Any other error is final. *record is
  // unspecified after false or an error.
  virtual absl::StatusOr<bool> Next(Record* record) = 0;

  // Number of the line at which the record last returned or refused begins, from 1.
  virtual uint64_t line_number() const = 0;

  // Records so far that came under a key already seen and were given another one, for formats
  // that do so.
  virtual uint64_t renamed_duplicates() const { return 0; }
};

// Writes records one after the other. Not thread safe.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;

  // kInvalidArgument: the format can't hold this record; nothing was written and the writer may
  // go on. Any other error is final.
  virtual absl::Status Write(const Record& record) = 0;

  // Whether the format keeps ttl_ms. If not, Write drops it.
  virtual bool keeps_ttl() const = 0;
};

enum class Format { kJsonLines, kKeyValueLines, kDebianIndex };

// `source` must outlive the reader. `encoding` is how kKeyValueLines are read; JSON says it
// itself, and an index has one form only.
std::unique_ptr<RecordReader> MakeRecordReader(Format format, Encoding encoding,
                                               const RecordLimits& limits, ByteSource& source);

// `sink` must outlive the writer, and must be flushed by the caller at the end.
std::unique_ptr<RecordWriter> MakeRecordWriter(Format format, Encoding encoding, ByteSink& sink);

}  // namespace dunlin::kvctl
