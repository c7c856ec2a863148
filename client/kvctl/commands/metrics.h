#pragma once

#include <string>

#include "client/kvctl/context.h"

namespace dunlin::kvctl {

// The server's status for monitoring, in Prometheus' text exposition format (version 0.0.4), as its
// node exporter's textfile collector reads it. Counters begin anew with the server. Does not have
// the server count its items.
std::string MetricsText(const ServerStatus& status, int64_t now_unix_ms);

// Prints it, whatever `-o` says. Needs Context::client. A server that can't be reached is a failure
// like any command's, and nothing is printed.
ExitCode RunMetrics(Context& context);

}  // namespace dunlin::kvctl
