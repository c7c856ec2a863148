#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "client/kvctl/commands/completion.h"
#include "client/kvctl/commands/export.h"
#include "client/kvctl/commands/import.h"
#include "client/kvctl/commands/records.h"
#include "client/kvctl/commands/scan.h"
#include "client/kvctl/commands/server.h"
#include "client/kvctl/commands/workload.h"
#include "client/kvctl/context.h"
#include "client/kvctl/doctor/doctor.h"
#include "client/kvctl/snapshots/snapshots.h"

namespace dunlin::kvctl {

struct PingArguments {};
struct StatusArguments {};
struct StatsArguments {};
struct MetricsArguments {};
struct LayoutArguments {};

// A text to print and nothing else to do: help, version, a completion script.
struct TextArguments {
  std::string text;
};

struct Invocation {
  std::string server;
  Milliseconds timeout{5000};
  OutputFormat output = OutputFormat::kTable;
  std::variant<TextArguments, PingArguments, StatusArguments, SweepArguments, StatsArguments,
               MetricsArguments, LayoutArguments, GetArguments, PutArguments, DelArguments,
               CasArguments, IncrArguments, TouchArguments, ScanArguments, ImportArguments,
               ExportArguments, WorkloadArguments, DoctorArguments, SnapshotCreateArguments,
               SnapshotListArguments, SnapshotDeleteArguments, SnapshotVerifyArguments,
               SnapshotGetArguments, SnapshotExportArguments, SnapshotRestoreArguments>
      command;
};

struct ParsedCommandLine {
  Invocation invocation;  // as far as it was understood, so that an error honours `-o json`
  absl::Status status;    // kInvalidArgument: what is wrong, and how to get help
};

// Parses what main was given, without the program's name. Without --server, DUNLIN_SERVER in the
// environment counts, then `default_server`.
ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments,
                                   const std::string& default_server);

}  // namespace dunlin::kvctl
