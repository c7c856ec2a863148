#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/connect/session_parts.h"
#include "dunlin/client.h"
#include "dunlin/session.h"

namespace dunlin {

// A session on a mapped region. `parts` come from a completed Hello.
absl::StatusOr<std::unique_ptr<Session>> MakeShmSession(ShmSessionParts parts,
                                                        const SessionOptions& options);

}  // namespace dunlin
