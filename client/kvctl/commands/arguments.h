#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/byte_stream.h"
#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

// The bytes that an argument stands for; kText: its own. `what` is for error messages.
absl::StatusOr<std::string> DecodeArgument(std::string_view what, Encoding encoding,
                                           std::string_view text);

// Reads all of `source`. kResourceExhausted if that is more than `limit` bytes.
absl::StatusOr<std::string> ReadWhole(ByteSource& source, std::string_view name, uint64_t limit);

// A key for messages: quoted and printable, long ones cut.
std::string QuoteKey(std::string_view key);

}  // namespace dunlin::kvctl
