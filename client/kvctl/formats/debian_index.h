#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/kvctl/formats/line_reader.h"
#include "client/kvctl/formats/record_stream.h"

namespace dunlin::kvctl {

// Debian's package index, as `apt-cache dumpavail` prints it and as mirrors call it "Packages":
// stanzas of "Field: value" lines, where a line that begins with a space or TAB continues the one
// before. Each stanza is ended by one empty line (the last one may lack it).
//
// A stanza is a record:
//   key    name/architecture/version, from the fields Package, Architecture and Version, whose
//          names are compared without regard to case. Neither may hold '/', '#', white space or
//          anything but printable ASCII.
//   value  the exact bytes of its lines, the last '\n' included, the empty line excluded.
//
// A stanza of an earlier one's name, architecture and version, as several archives may offer them,
// is not lost: the n-th gets the key name/architecture/version#n, from #2. The reader counts these.
//
// Writing records in the order in which they were read reproduces the stream byte for byte, if it
// had one empty line after each stanza, the last one included, and none elsewhere.

// Key of the stanza `text`, without a number. kInvalidArgument if the text is not one stanza in the
// form above.
absl::StatusOr<std::string> DebianStanzaKey(std::string_view text);

class DebianIndexReader final : public RecordReader {
 public:
  DebianIndexReader(const RecordLimits& limits, ByteSource& source);
  absl::StatusOr<bool> Next(Record* record) override;
  uint64_t line_number() const override { return first_line_; }
  uint64_t renamed_duplicates() const override { return renamed_duplicates_; }

 private:
  absl::StatusOr<bool> TakeStanza(std::string* text);
  absl::Status SkipStanza();
  absl::Status AtStanza(const absl::Status& status) const;
  void NumberDuplicate(std::string* key);

  const RecordLimits limits_;
  LineReader lines_;
  uint64_t first_line_ = 0;
  // Times that each key was seen. Grows with the number of stanzas: about 100 bytes each.
  absl::flat_hash_map<std::string, uint32_t> seen_;
  uint64_t renamed_duplicates_ = 0;
};

// Refuses a record whose value is not a stanza or whose key is not that stanza's.
class DebianIndexWriter final : public RecordWriter {
 public:
  explicit DebianIndexWriter(ByteSink& sink) : sink_(sink) {}
  absl::Status Write(const Record& record) override;
  bool keeps_ttl() const override { return false; }

 private:
  ByteSink& sink_;
};

}  // namespace dunlin::kvctl
