#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::kvbench {
namespace {

using Make = absl::StatusOr<std::unique_ptr<Binding>> (*)(const Properties&);

// Answers each connection with the next of the texts that it was given, whatever it asks, and then
// hangs up.
class Server {
 public:
  Server() : path_(folder_.path() + "/s"), socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    signal(SIGPIPE, SIG_IGN);  // hiredis wants that of its callers
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    DUNLIN_CHECK(path_.size() < sizeof address.sun_path);
    path_.copy(address.sun_path, path_.size());
    DUNLIN_CHECK(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    DUNLIN_CHECK(listen(socket_.get(), 8) == 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Server() {
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& path() const { return path_; }
  void SetAnswers(std::vector<std::string> answers) {
    const std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
  }

 private:
  std::string NextAnswer() {
    const std::lock_guard lock(mutex_);
    if (answers_.empty()) return "";
    std::string answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return answer;
  }

  void Run() {
    constexpr size_t kKept = 8;
    std::deque<UniqueFd> kept;  // so that nobody writes to a socket without a peer
    for (;;) {
      UniqueFd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      const std::string answer = NextAnswer();
      std::string_view rest = answer;
      while (!rest.empty()) {
        const ssize_t sent =
            send(peer.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) break;  // more than a socket holds
        rest.remove_prefix(static_cast<size_t>(sent));
      }
      shutdown(peer.get(), SHUT_WR);
      kept.push_back(std::move(peer));
      if (kept.size() > kKept) kept.pop_front();
    }
  }

  testing::TemporaryFolder folder_;
  std::string path_;
  UniqueFd socket_;
  std::mutex mutex_;
  std::vector<std::string> answers_;
  std::thread thread_;
};

std::vector<Request> Asked() {
  return {{.op = Op::kRead, .key = "one"},
          {.op = Op::kUpdate, .key = "two", .value = "value"},
          {.op = Op::kRead, .key = "three"},
          {.op = Op::kInsert, .key = "four", .value = ""},
          {.op = Op::kDelete, .key = "five"}};
}

// Each request has an answer that makes sense, and what was found is readable.
void Check(BindingSession& session) {
  std::vector<Request> requests = Asked();
  session.Execute(requests);
  size_t sum = 0;
  for (const Request& request : requests) {
    DUNLIN_CHECK(request.returned <= Return::kUnknown);
    if (request.returned == Return::kError) DUNLIN_CHECK(!session.last_error().empty());
    if (request.op != Op::kRead || request.returned != Return::kOk) continue;
    for (const char c : request.found) sum += static_cast<unsigned char>(c);
  }
  DUNLIN_CHECK(sum < SIZE_MAX);
}

void CheckReplies(Make make, std::string_view socket_property, std::vector<std::string> answers) {
  static Server server;
  server.SetAnswers(std::move(answers));
  Properties properties;
  properties.Set(socket_property, server.path());
  properties.Set("memcached.client", "direct");
  const auto binding = make(properties);
  if (!binding.ok()) return;  // it did not like what the server said of itself
  auto session = (*binding)->Open();
  DUNLIN_CHECK_OK(session);
  Check(**session);
  (*binding)->Use();
  DUNLIN_CHECK(!(*binding)->Describe().empty());
}

}  // namespace
}  // namespace dunlin::kvbench

// The first byte says whose replies the others are, and to what: to a session's commands (r, m), or
// when the server is asked about itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using dunlin::kvbench::CheckReplies;
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string redis = "$24\r\n\r\nredis_version:9.9.9\r\nx\r\n";
  const std::string memcached = "STAT version 9\r\nEND\r\n";
  switch (data[0]) {
    case 'm':
      CheckReplies(dunlin::kvbench::MakeMemcached, "memcached.socket", {memcached, bytes});
      break;
    case 'M':
      CheckReplies(dunlin::kvbench::MakeMemcached, "memcached.socket", {bytes, "", bytes, bytes});
      break;
    case 'R':
      CheckReplies(dunlin::kvbench::MakeRedis, "redis.socket", {bytes, "", bytes});
      break;
    default:
      CheckReplies(dunlin::kvbench::MakeRedis, "redis.socket", {redis, bytes});
  }
  return 0;
}
