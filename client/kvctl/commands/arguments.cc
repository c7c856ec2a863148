#include "client/kvctl/commands/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "common/base/status.h"

namespace dunlin::kvctl {

absl::StatusOr<std::string> DecodeArgument(std::string_view what, Encoding encoding,
                                           std::string_view text) {
  if (encoding == Encoding::kText) return std::string(text);
  absl::StatusOr<std::string> bytes = DecodeBytes(encoding, text);
  if (!bytes.ok()) return WithContext(bytes.status(), what);
  return bytes;
}

absl::StatusOr<std::string> ReadWhole(ByteSource& source, std::string_view name, uint64_t limit) {
  constexpr size_t kPiece = size_t{1} << 16;
  std::string bytes;
  while (true) {
    const size_t end = bytes.size();
    bytes.resize(end + std::max(end, kPiece));
    DUNLIN_ASSIGN_OR_RETURN(const size_t n, source.Read({bytes.data() + end, bytes.size() - end}));
    bytes.resize(end + n);
    if (n == 0) return bytes;
    if (bytes.size() > limit) {
      return absl::ResourceExhaustedError(absl::StrCat(
          ToAbsl(name), " is longer than the server's limit for a value, ", limit, " bytes"));
    }
  }
}

std::string QuoteKey(std::string_view key) {
  constexpr size_t kShown = 80;
  if (key.size() <= kShown) return "\"" + EncodePrintable(key) + "\"";
  return absl::StrCat("\"", EncodePrintable(key.substr(0, kShown)), "...\" (", key.size(),
                      " bytes)");
}

}  // namespace dunlin::kvctl
