#include "client/kvctl/option_values.h"

#include <chrono>

#include "absl/status/statusor.h"
#include "common/base/size_text.h"

namespace dunlin::kvctl {

absl::Status ParseMilliseconds(std::string_view option, std::string_view text,
                               Milliseconds* value) {
  const absl::StatusOr<int64_t> nanos = ParseDuration(text);
  if (!nanos.ok()) return WithContext(nanos.status(), option);
  *value = std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds(*nanos));
  if (value->count() >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(option), " is \"", ToAbsl(text), "\", expected at least 1ms"));
}

}  // namespace dunlin::kvctl
