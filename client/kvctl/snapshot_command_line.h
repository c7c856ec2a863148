#pragma once

#include <map>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "client/kvctl/command_line.h"
#include "client/kvctl/option_values.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dunlin::kvctl {

// The commands below `kvctl snapshot`.
class SnapshotCommandLine {
 public:
  // Adds them to `command`. What their options may be set to is noted in `choices`.
  SnapshotCommandLine(CLI::App* command, std::map<const CLI::Option*, Choices>* choices);
  ~SnapshotCommandLine();

  // After a parse that found `command`: sets invocation->command. `timeout`: of --timeout, if it
  // was given.
  absl::Status Finish(std::optional<Milliseconds> timeout, Invocation* invocation) const;

 private:
  struct Rep;
  const std::unique_ptr<Rep> rep_;
};

}  // namespace dunlin::kvctl
