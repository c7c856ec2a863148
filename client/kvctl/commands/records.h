#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/kvctl/context.h"
#include "client/kvctl/formats/record.h"
#include "dunlin/types.h"

// Commands on one key. Each needs Context::session.

namespace dunlin::kvctl {

struct KeyArguments {
  std::string key;                      // as written on the command line
  Encoding encoding = Encoding::kText;  // of key and value there, and in what is printed;
                                        // kText: the argument's bytes, without escapes
};

// Where a value comes from: exactly one of argument and file.
struct ValueArguments {
  std::optional<std::string> argument;  // "-": standard input, as it is
  std::optional<std::string> file;      // its contents, as they are
};

struct GetArguments {
  KeyArguments key;
  bool raw = false;  // the value's bytes alone
};
ExitCode RunGet(Context& context, const GetArguments& arguments);

struct PutArguments {
  KeyArguments key;
  ValueArguments value;
  PutMode mode = PutMode::kAlways;
  std::optional<Milliseconds> ttl;
};
ExitCode RunPut(Context& context, const PutArguments& arguments);

struct DelArguments {
  KeyArguments key;
};
ExitCode RunDel(Context& context, const DelArguments& arguments);

struct CasArguments {
  KeyArguments key;
  ValueArguments value;
  uint64_t version = 0;
  std::optional<Milliseconds> ttl;
};
ExitCode RunCas(Context& context, const CasArguments& arguments);

struct IncrArguments {
  KeyArguments key;
  int64_t by = 1;
  std::optional<int64_t> initial;
};
ExitCode RunIncr(Context& context, const IncrArguments& arguments);

struct TouchArguments {
  KeyArguments key;
  std::optional<Milliseconds> ttl;  // none: never expires
};
ExitCode RunTouch(Context& context, const TouchArguments& arguments);

}  // namespace dunlin::kvctl
