#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/kvctl/formats/record_stream.h"
#include "common/base/random.h"
#include "common/base/status.h"

namespace dunlin::kvctl {

struct ReadResult {
  std::vector<Record> records;
  std::vector<std::string> errors;  // of malformed records
  std::vector<uint64_t> lines;      // line number after each call that gave one or the other
};

inline ReadResult ReadAll(RecordReader& reader) {
  ReadResult result;
  while (true) {
    Record record;
    const absl::StatusOr<bool> more = reader.Next(&record);
    if (more.ok() && !*more) return result;
    result.lines.push_back(reader.line_number());
    if (more.ok()) {
      result.records.push_back(std::move(record));
      continue;
    }
    EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument) << more.status();
    if (!absl::IsInvalidArgument(more.status())) return result;
    result.errors.emplace_back(FromAbsl(more.status().message()));
  }
}

inline ReadResult ReadAll(Format format, Encoding encoding, std::string_view bytes,
                          size_t chunk = std::string_view::npos, const RecordLimits& limits = {}) {
  StringSource source(bytes, chunk);
  return ReadAll(*MakeRecordReader(format, encoding, limits, source));
}

// Random records whose bytes are mostly those that formats treat specially.
inline std::vector<Record> RandomRecords(uint64_t seed, int count) {
  static constexpr std::string_view kPieces[] = {
      "a",   "\t",       "\n",   "\r", "\\",       "\"",           "/",
      "\\t", "\xc3\xbc", "\xff", "=",  "\xed\xa0", "\xf0\x9f\x98", "\xf0\x9f\x98\x80",
      "#",   {"\0", 1},  "\x7f", ":",  "{",        "\\u0041",      "\xe2\x80\xa8"};
  Random random(seed);
  const auto bytes = [&](size_t pieces) {
    std::string out;
    for (size_t i = 0; i < pieces; ++i) out += kPieces[random.Below(std::size(kPieces))];
    return out;
  };
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) {
    Record record;
    record.key = bytes(1 + random.Below(6));
    record.value = bytes(random.Below(12));
    if (random.OneIn(3)) record.ttl_ms = 1 + (random.Next() >> 1) % INT64_MAX;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace dunlin::kvctl
