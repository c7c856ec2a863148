#include "client/kvctl/commands/records.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvctl {
namespace {

absl::StatusOr<std::string> KeyOf(const KeyArguments& arguments) {
  return DecodeArgument("the key", arguments.encoding, arguments.key);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", std::strerror(error)));
  }
  FdSource source(fd.get(), path);
  return ReadWhole(source, path, limit);
}

absl::StatusOr<std::string> ValueOf(Context& context, const ValueArguments& value,
                                    Encoding encoding) {
  const uint64_t limit = context.session->max_value_bytes();
  if (value.file.has_value()) return ReadFile(*value.file, limit);
  if (*value.argument == "-") return ReadWhole(*context.in, "standard input", limit);
  return DecodeArgument("the value", encoding, *value.argument);
}

void AddTtl(const std::optional<Milliseconds>& ttl, Report* report) {
  if (ttl.has_value()) {
    report->Add("ttl_ms", ttl->count(), Unit::kMillis);
  } else {
    report->AddNull("ttl_ms", "never expires");
  }
}

// "get "k""
std::string Calling(std::string_view command, std::string_view key) {
  return absl::StrCat(ToAbsl(command), " ", QuoteKey(key));
}

// What the user needs to know beyond the outcome's name.
Failure ExplainWrite(const Context& context, const WriteResult& result, std::string_view calling) {
  Failure failure = FailureOf(result.outcome, calling);
  if (result.outcome == Outcome::kVersionMismatch) {
    absl::StrAppend(&failure.message, "; the key has version ", result.version);
  } else if (result.outcome == Outcome::kTooLarge) {
    absl::StrAppend(&failure.message, "; this server takes keys up to ",
                    context.session->max_key_bytes(), " bytes and values up to ",
                    context.session->max_value_bytes(), " bytes");
  }
  return failure;
}

// The answer to a write that makes a new version.
ExitCode PrintVersion(Context& context, const KeyArguments& key, std::string_view bytes,
                      uint64_t version) {
  Report report;
  report.AddBytes("key", bytes, key.encoding);
  report.AddExact("version", version);
  return Print(context, report);
}

}  // namespace

ExitCode RunGet(Context& context, const GetArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  std::string value;
  const GetResult result = context.session->GetString(AsBytes(*key), &value);
  if (!result.ok()) return Fail(context, FailureOf(result.outcome, Calling("get", *key)));
  if (arguments.raw) return PrintBytes(context, value);
  Report report;
  report.AddBytes("key", *key, arguments.key.encoding);
  report.AddBytes("value", value, arguments.key.encoding);
  report.AddExact("version", result.version);
  AddTtl(result.ttl_left, &report);
  return Print(context, report);
}

ExitCode RunPut(Context& context, const PutArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  const absl::StatusOr<std::string> value =
      ValueOf(context, arguments.value, arguments.key.encoding);
  if (!value.ok()) return Fail(context, value.status());
  PutOptions options;
  options.mode = arguments.mode;
  options.ttl = arguments.ttl;
  const WriteResult result = context.session->PutBytes(AsBytes(*key), AsBytes(*value), options);
  if (!result.ok()) return Fail(context, ExplainWrite(context, result, Calling("put", *key)));
  return PrintVersion(context, arguments.key, *key, result.version);
}

ExitCode RunDel(Context& context, const DelArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  const WriteResult result = context.session->RemoveBytes(AsBytes(*key));
  if (!result.ok()) return Fail(context, ExplainWrite(context, result, Calling("del", *key)));
  Report report;
  report.AddBytes("key", *key, arguments.key.encoding);
  report.Add("removed", true);
  return Print(context, report);
}

ExitCode RunCas(Context& context, const CasArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  const absl::StatusOr<std::string> value =
      ValueOf(context, arguments.value, arguments.key.encoding);
  if (!value.ok()) return Fail(context, value.status());
  PutOptions options;
  options.ttl = arguments.ttl;
  const WriteResult result =
      context.session->CompareAndSet(AsBytes(*key), arguments.version, AsBytes(*value), options);
  if (!result.ok()) return Fail(context, ExplainWrite(context, result, Calling("cas", *key)));
  return PrintVersion(context, arguments.key, *key, result.version);
}

ExitCode RunIncr(Context& context, const IncrArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  AddOptions options;
  options.initial = arguments.initial;
  const WriteResult result = context.session->Add(AsBytes(*key), arguments.by, options);
  if (!result.ok()) return Fail(context, ExplainWrite(context, result, Calling("incr", *key)));
  Report report;
  report.AddBytes("key", *key, arguments.key.encoding);
  report.Add("sum", result.sum, Unit::kNone);
  report.AddExact("version", result.version);
  return Print(context, report);
}

ExitCode RunTouch(Context& context, const TouchArguments& arguments) {
  const absl::StatusOr<std::string> key = KeyOf(arguments.key);
  if (!key.ok()) return Fail(context, key.status());
  const WriteResult result = context.session->Touch(AsBytes(*key), arguments.ttl);
  if (!result.ok()) return Fail(context, ExplainWrite(context, result, Calling("touch", *key)));
  Report report;
  report.AddBytes("key", *key, arguments.key.encoding);
  report.AddExact("version", result.version);
  AddTtl(arguments.ttl, &report);
  return Print(context, report);
}

}  // namespace dunlin::kvctl
