#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/kvctl/formats/record_stream.h"
#include "common/base/check.h"

namespace dunlin::kvctl {
namespace {

constexpr RecordLimits kLimits{.max_key = 64, .max_value = 256};

std::vector<Record> ReadAll(Format format, Encoding encoding, std::string_view text, size_t chunk) {
  StringSource source(text, chunk);
  const auto reader = MakeRecordReader(format, encoding, kLimits, source);
  std::vector<Record> records;
  uint64_t line = 0;
  while (true) {
    Record record;
    const absl::StatusOr<bool> more = reader->Next(&record);
    if (more.ok() && !*more) return records;
    DUNLIN_CHECK_GT(reader->line_number(), line);
    line = reader->line_number();
    if (!more.ok()) {
      DUNLIN_CHECK(absl::IsInvalidArgument(more.status()));
      continue;
    }
    DUNLIN_CHECK(!record.key.empty());
    DUNLIN_CHECK_LE(record.key.size(), kLimits.max_key);
    DUNLIN_CHECK_LE(record.value.size(), kLimits.max_value);
    records.push_back(std::move(record));
  }
}

}  // namespace
}  // namespace dunlin::kvctl

// The first byte chooses the format, the encoding and the size of reads. Whatever a reader accepts
// must be written and read back unchanged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin::kvctl;  // NOLINT: the entry point can't be in a namespace
  if (size == 0) return 0;
  constexpr Format kFormats[] = {Format::kJsonLines, Format::kKeyValueLines, Format::kDebianIndex};
  constexpr Encoding kEncodings[] = {Encoding::kText, Encoding::kHex, Encoding::kBase64};
  const Format format = kFormats[data[0] % 3];
  const Encoding encoding = kEncodings[data[0] / 3 % 3];
  const size_t chunk = 1 + data[0] / 9;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);

  std::vector<Record> records = ReadAll(format, encoding, text, chunk);
  StringSink sink;
  const auto writer = MakeRecordWriter(format, encoding, sink);
  for (Record& record : records) {
    DUNLIN_CHECK(writer->Write(record).ok());
    if (!writer->keeps_ttl()) record.ttl_ms.reset();
  }
  DUNLIN_CHECK(ReadAll(format, encoding, sink.bytes(), std::string_view::npos) == records);
  return 0;
}
