#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kvbench/bindings/memcached.h"
#include "bench/kvbench/bindings/text_connection.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kMaxKeyBytes = 250;
constexpr size_t kMaxValueBytes = 1 << 30;  // which memcached can be told to take

// The protocol separates words by spaces and commands by line ends.
bool CanBeSent(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) return false;
  for (const char c : key) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return false;
  }
  return true;
}

class Session : public BindingSession {
 public:
  explicit Session(const MemcachedSettings& settings)
      : connection_(settings.server, settings.timeout_ms) {}
  absl::Status Connect() { return connection_.Connect(); }

  void Execute(std::span<Request> requests) override {
    const absl::Status ended = Exchange(requests);
    if (!ended.ok()) {
      error_ = FromAbsl(ended.message());
      for (Request& request : requests) {
        request.returned = Return::kError;
        request.found = {};
      }
      return;
    }
    for (const Found& found : found_) found.request->found = connection_.Text(found.value);
  }
  std::string last_error() const override { return error_; }

 private:
  struct Found {
    Request* request;
    TextConnection::Piece value;
  };

  absl::Status Exchange(std::span<Request> requests) {
    DUNLIN_RETURN_IF_ERROR(connection_.Connect());
    found_.clear();
    commands_.clear();
    for (Request& request : requests) {
      request.returned = Return::kOk;
      if (CanBeSent(request.key)) {
        Compose(request);
      } else {
        request.returned = Return::kError;
        error_ = "memcached takes keys of 1 to 250 bytes without spaces and control characters";
      }
    }
    DUNLIN_RETURN_IF_ERROR(connection_.Send(commands_));
    for (Request& request : requests) {
      if (request.returned == Return::kOk) DUNLIN_RETURN_IF_ERROR(Answer(request));
    }
    return absl::OkStatus();
  }

  void Compose(const Request& request) {
    if (request.op == Op::kRead) {
      commands_.append("mg ").append(request.key).append(" v\r\n");
    } else if (request.op == Op::kDelete) {
      commands_.append("md ").append(request.key).append("\r\n");
    } else {
      char digits[24];
      char* const end = std::to_chars(digits, digits + sizeof digits, request.value.size()).ptr;
      commands_.append("ms ").append(request.key).append(" ");
      commands_.append(digits, static_cast<size_t>(end - digits)).append("\r\n");
      commands_.append(request.value).append("\r\n");
    }
  }

  absl::Status Answer(Request& request) {
    DUNLIN_ASSIGN_OR_RETURN(const TextConnection::Piece piece, connection_.ReadLine());
    const std::string_view line = connection_.Text(piece);
    if (line.starts_with("VA ")) {
      size_t bytes = 0;
      const auto [end, error] = std::from_chars(line.data() + 3, line.data() + line.size(), bytes);
      if (error != std::errc() || bytes > kMaxValueBytes) {
        return connection_.Lost("expected a length, found '" + std::string(line) + "'");
      }
      DUNLIN_ASSIGN_OR_RETURN(const TextConnection::Piece value, connection_.ReadBytes(bytes));
      found_.push_back({&request, value});
    } else if (line == "EN" || line == "NF") {
      request.returned = Return::kNotFound;
    } else if (line != "HD") {
      request.returned = Return::kError;
      error_ = "memcached: " + std::string(line);
    }
    return absl::OkStatus();
  }

  TextConnection connection_;
  std::string commands_;
  std::vector<Found> found_;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BindingSession>> OpenDirect(const MemcachedSettings& settings) {
  auto session = std::make_unique<Session>(settings);
  DUNLIN_RETURN_IF_ERROR(session->Connect());
  return session;
}

}  // namespace dunlin::kvbench
