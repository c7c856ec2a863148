#include "tests/unit/kvbench/bindings_peer_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "common/base/status.h"
#include "common/base/unique_fd.h"

extern char** environ;

namespace dunlin::testing {
namespace {

constexpr int kStarts = 5;
constexpr int kReadyLooks = 1000;  // of 10 ms

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Free at this moment, so a start may still fail because of it.
uint16_t FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t bytes = sizeof address;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerServer>> PeerServer::Start(Kind kind, bool on_tcp) {
  auto server = std::unique_ptr<PeerServer>(new PeerServer());
  server->kind_ = kind;
  if (!on_tcp) server->socket_ = server->folder_.path() + "/peer.sock";
  absl::Status started;
  for (int i = 0; i < kStarts; ++i) {
    if (on_tcp) server->port_ = FreePort();
    started = server->Restart();
    if (started.ok()) return server;
    if (absl::IsNotFound(started)) break;
  }
  return started;
}

std::vector<std::string> PeerServer::CommandLine() const {
  const std::string port = std::to_string(port_);
  if (kind_ == Kind::kRedis) {
    std::vector<std::string> words = {"redis-server", "--bind", "127.0.0.1", "--port", port,
                                      "--appendonly", "no",     "--save",    "",       "--dir",
                                      folder_.path()};
    if (!socket_.empty()) words.insert(words.end(), {"--unixsocket", socket_});
    return words;
  }
  std::vector<std::string> words = {"memcached", "-u", "root", "-m", "64"};
  if (socket_.empty()) {
    words.insert(words.end(), {"-l", "127.0.0.1", "-p", port});
  } else {
    words.insert(words.end(), {"-s", socket_});
  }
  return words;
}

bool PeerServer::Accepts() const {
  const UniqueFd fd(::socket(socket_.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_.empty()) {
    const sockaddr_in address = Loopback(port_);
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, sizeof address.sun_path - 1);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

absl::Status PeerServer::Restart() {
  std::vector<std::string> words = CommandLine();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = folder_.path() + "/log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    return absl::NotFoundError(words[0] + ": " + std::strerror(error));
  }
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  for (int i = 0; i < kReadyLooks; ++i) {
    if (Accepts()) return absl::OkStatus();
    pollfd gone{process.get(), POLLIN, 0};
    if (poll(&gone, 1, 10) > 0) break;
  }
  Kill();
  return absl::UnavailableError(words[0] + " did not start");
}

void PeerServer::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace dunlin::testing
