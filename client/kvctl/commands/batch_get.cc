#include "client/kvctl/commands/batch_get.h"

#include <utility>

namespace dunlin::kvctl {

void BatchGetter::Get(std::span<const std::string> keys, const Visitor& visit) {
  buffer_.resize(keys.size() * kSmallValue);
  std::vector<GetRequest> requests(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    requests[i].key = AsBytes(keys[i]);
    requests[i].buffer = std::span(buffer_).subspan(i * kSmallValue, kSmallValue);
  }
  session_.MultiGet(requests);

  for (size_t i = 0; i < keys.size(); ++i) {
    Record record;
    record.key = keys[i];
    GetResult result = requests[i].result;
    if (result.outcome == Outcome::kBufferTooSmall) {
      result = session_.GetString(AsBytes(keys[i]), &record.value);
    } else if (result.ok()) {
      record.value.assign(reinterpret_cast<const char*>(requests[i].buffer.data()),
                          result.value_bytes);
    }
    // A time to live of less than a millisecond is still one, and 0 would mean something else.
    if (result.ttl_left.has_value()) {
      record.ttl_ms = result.ttl_left->count() > 0 ? result.ttl_left->count() : 1;
    }
    visit(i, result.outcome, record);
  }
}

}  // namespace dunlin::kvctl
