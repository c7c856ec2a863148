#pragma once

#include "client/kvctl/context.h"

// What a server says about itself. Each needs Context::client.

namespace dunlin::kvctl {

// Release and round trip.
ExitCode RunPing(Context& context);

// Memory, items, index load, sessions. Has the server count its items.
ExitCode RunStatus(Context& context);

// Counters since the server's start, and memory by size class. Reads and writes are not among
// them: they are one-sided, so only clients can count theirs.
ExitCode RunStats(Context& context);

// Where what lies in the region.
ExitCode RunLayout(Context& context);

}  // namespace dunlin::kvctl
