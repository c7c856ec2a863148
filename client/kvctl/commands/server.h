#pragma once

#include "client/kvctl/context.h"

// What a server says about itself. Each needs Context::client.

namespace dunlin::kvctl {

// Release and round trip.
ExitCode RunPing(Context& context);

// Memory, items, index load, sessions. Has the server count its items.
ExitCode RunStatus(Context& context);

struct SweepArguments {
  Milliseconds patience{300'000};
};
// Has the server free what is nobody's, then the same as RunStatus.
ExitCode RunSweep(Context& context, const SweepArguments& arguments);

// Counters since the server's start, and memory by size class. Reads and writes are not among
// them: they are one-sided, so only clients can count theirs.
ExitCode RunStats(Context& context);

// Where what lies in the region.
ExitCode RunLayout(Context& context);

}  // namespace dunlin::kvctl
