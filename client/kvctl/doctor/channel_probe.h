#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/connect/opener.h"
#include "client/kvctl/doctor/raw_probe.h"

namespace dunlin::kvctl {

// Measures on a session's channel: on a block of memory that the session takes from the server and
// gives back, so that no record is touched.
class ChannelProbe final : public RawProbe {
 public:
  using MakeOpener =
      std::function<absl::StatusOr<std::shared_ptr<Opener>>(std::string_view target)>;

  explicit ChannelProbe(MakeOpener make_opener) : make_opener_(std::move(make_opener)) {}

  absl::StatusOr<RawPathResult> Measure(std::string_view target, Milliseconds timeout,
                                        const Clock& clock) override;

 private:
  const MakeOpener make_opener_;
};

// The opener for a single target, as Client::Connect would take it.
absl::StatusOr<std::shared_ptr<Opener>> MakePathOpener(std::string_view target);

}  // namespace dunlin::kvctl
