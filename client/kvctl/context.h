#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/formats/byte_stream.h"
#include "client/kvctl/output/exit_code.h"
#include "client/kvctl/output/report.h"
#include "common/base/clock.h"
#include "dunlin/client.h"

namespace dunlin::kvctl {

enum class OutputFormat { kTable, kJson };

// What a command works with: everything that it touches outside of itself. Nothing is owned.
struct Context {
  Client* client = nullptr;
  Session* session = nullptr;  // only for commands on keys
  const Clock* clock = nullptr;
  ByteSource* in = nullptr;  // standard input
  ByteSink* out = nullptr;
  ByteSink* err = nullptr;
  OutputFormat output = OutputFormat::kTable;
  bool err_is_terminal = false;
  int err_columns = 80;
};

// Writes the answer of a command. kOk, or kOther if it can't be written.
ExitCode Print(Context& context, const Report& report);

// Writes bytes as they are, likewise.
ExitCode PrintBytes(Context& context, std::string_view bytes);

// Tells the user and returns failure.exit. A table user reads it on err:
//   kvctl: get "k": not found
// With `-o json` scripts find one object on out, as after success:
//   {"error":{"code":"NOT_FOUND","message":"get \"k\": not found","exit":3}}
ExitCode Fail(Context& context, const Failure& failure);
ExitCode Fail(Context& context, const absl::Status& status);

// One line on err, for what is worth knowing but no failure, and for single failed records.
void Note(Context& context, std::string_view line);

}  // namespace dunlin::kvctl
