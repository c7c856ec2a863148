#include <libmemcached/memcached.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kvbench/bindings/found_values.h"
#include "bench/kvbench/bindings/memcached.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

struct HandleFreed {
  void operator()(memcached_st* handle) const { memcached_free(handle); }
};
using Handle = std::unique_ptr<memcached_st, HandleFreed>;

class Session : public BindingSession {
 public:
  // The result is not one of the library's own: those it frees at the end of a multi-get.
  explicit Session(Handle handle) : handle_(std::move(handle)) {
    memcached_result_create(handle_.get(), &result_);
  }
  ~Session() override { memcached_result_free(&result_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Execute(std::span<Request> requests) override {
    found_.Clear();
    size_t reads = 0;
    for (const Request& request : requests) reads += request.op == Op::kRead;
    if (reads > 0) Read(requests);
    for (Request& request : requests) {
      if (request.op != Op::kRead) Write(request);
    }
    found_.Publish();
  }
  std::string last_error() const override { return error_; }

 private:
  void Read(std::span<Request> requests) {
    keys_.clear();
    lengths_.clear();
    for (Request& request : requests) {
      if (request.op != Op::kRead) continue;
      request.returned = Return::kNotFound;
      keys_.push_back(request.key.data());
      lengths_.push_back(request.key.size());
    }
    memcached_return_t ended =
        memcached_mget(handle_.get(), keys_.data(), lengths_.data(), keys_.size());
    // The values come in the order of the keys; what isn't there is left out.
    auto next = requests.begin();
    while (ended == MEMCACHED_SUCCESS &&
           memcached_fetch_result(handle_.get(), &result_, &ended) != nullptr) {
      next = Found(next, requests.end());
    }
    if (ended == MEMCACHED_END || ended == MEMCACHED_NOTFOUND || ended == MEMCACHED_SUCCESS) return;
    const Return returned = Ended(ended);
    for (Request& request : requests) {
      if (request.op == Op::kRead && request.returned == Return::kNotFound) {
        request.returned = returned;
      }
    }
  }

  // Returns the request behind the one whose value the result is.
  std::span<Request>::iterator Found(std::span<Request>::iterator next,
                                     std::span<Request>::iterator end) {
    const std::string_view key(memcached_result_key_value(&result_),
                               memcached_result_key_length(&result_));
    while (next != end && (next->op != Op::kRead || next->key != key)) ++next;
    if (next == end) return end;
    next->returned = Return::kOk;
    found_.Add(*next, {memcached_result_value(&result_), memcached_result_length(&result_)});
    return next + 1;
  }

  void Write(Request& request) {
    const std::string_view key = request.key;
    const memcached_return_t ended =
        request.op == Op::kDelete ? memcached_delete(handle_.get(), key.data(), key.size(), 0)
                                  : memcached_set(handle_.get(), key.data(), key.size(),
                                                  request.value.data(), request.value.size(), 0, 0);
    request.returned = Ended(ended);
  }

  Return Ended(memcached_return_t ended) {
    if (ended == MEMCACHED_SUCCESS) return Return::kOk;
    if (ended == MEMCACHED_NOTFOUND) return Return::kNotFound;
    error_ = memcached_last_error_message(handle_.get());
    if (error_.empty()) error_ = memcached_strerror(handle_.get(), ended);
    return Return::kError;
  }

  const Handle handle_;
  memcached_result_st result_;
  std::vector<const char*> keys_;
  std::vector<size_t> lengths_;
  FoundValues found_;
  std::string error_;
};

absl::Status Set(memcached_st* handle, memcached_behavior_t behavior, uint64_t value) {
  const memcached_return_t ended = memcached_behavior_set(handle, behavior, value);
  if (ended == MEMCACHED_SUCCESS) return absl::OkStatus();
  return absl::InternalError(std::string("libmemcached: ") + memcached_strerror(handle, ended));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BindingSession>> OpenLibmemcached(
    const MemcachedSettings& settings) {
  Handle handle(memcached_create(nullptr));
  if (handle == nullptr) return absl::ResourceExhaustedError("no memory for libmemcached");
  const Endpoint& server = settings.server;
  const auto timeout = static_cast<uint64_t>(settings.timeout_ms);
  DUNLIN_RETURN_IF_ERROR(
      Set(handle.get(), MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, settings.binary ? 1 : 0));
  DUNLIN_RETURN_IF_ERROR(Set(handle.get(), MEMCACHED_BEHAVIOR_POLL_TIMEOUT, timeout));
  DUNLIN_RETURN_IF_ERROR(Set(handle.get(), MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, timeout));
  // Seconds, the least there is, until it looks again for a server that was gone.
  DUNLIN_RETURN_IF_ERROR(Set(handle.get(), MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 1));
  if (server.socket.empty()) {
    DUNLIN_RETURN_IF_ERROR(Set(handle.get(), MEMCACHED_BEHAVIOR_TCP_NODELAY, 1));
  }
  const memcached_return_t added =
      server.socket.empty() ? memcached_server_add(handle.get(), server.host.c_str(), server.port)
                            : memcached_server_add_unix_socket(handle.get(), server.socket.c_str());
  if (added != MEMCACHED_SUCCESS) {
    return absl::UnavailableError("libmemcached: " + server.Name() + ": " +
                                  memcached_strerror(handle.get(), added));
  }
  return std::make_unique<Session>(std::move(handle));
}

}  // namespace dunlin::kvbench
