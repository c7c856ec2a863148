#include <string>
#include <utility>

#include "dunlin/session.h"

namespace dunlin {
namespace {

std::string LimitText(const char* what, uint64_t limit, uint64_t found) {
  return std::string(what) + " of at most " + std::to_string(limit) + " bytes expected, " +
         std::to_string(found) + " found";
}

absl::Status Failure(const Session& session, Outcome outcome, std::string_view key,
                     uint64_t value_bytes) {
  if (outcome == Outcome::kInvalidArgument && key.empty()) {
    return ToStatus(outcome, "a key has at least 1 byte");
  }
  if (outcome != Outcome::kTooLarge) return ToStatus(outcome);
  return key.size() > session.max_key_bytes()
             ? ToStatus(outcome, LimitText("key", session.max_key_bytes(), key.size()))
             : ToStatus(outcome, LimitText("value", session.max_value_bytes(), value_bytes));
}

}  // namespace

absl::StatusOr<Entry> Session::Get(std::string_view key, const CallOptions& options) {
  Entry entry;
  const GetResult result = GetString(AsBytes(key), &entry.value, options);
  if (!result.ok()) return Failure(*this, result.outcome, key, 0);
  entry.version = result.version;
  entry.ttl_left = result.ttl_left;
  return entry;
}

absl::StatusOr<uint64_t> Session::Put(std::string_view key, std::string_view value,
                                      const PutOptions& options) {
  const WriteResult result = PutBytes(AsBytes(key), AsBytes(value), options);
  if (!result.ok()) return Failure(*this, result.outcome, key, value.size());
  return result.version;
}

absl::Status Session::Remove(std::string_view key, const CallOptions& options) {
  const WriteResult result = RemoveBytes(AsBytes(key), options);
  if (!result.ok()) return Failure(*this, result.outcome, key, 0);
  return absl::OkStatus();
}

GetResult Session::GetKnown(KnownKey& key, std::span<std::byte> buffer,
                            const CallOptions& options) {
  return GetInto(key.bytes(), buffer, options);
}

WriteResult Session::PutKnown(KnownKey& key, Bytes value, const PutOptions& options) {
  return PutBytes(key.bytes(), value, options);
}

}  // namespace dunlin
