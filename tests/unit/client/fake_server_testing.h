#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/sync.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/client/lane_peer_testing.h"
#include "tests/unit/client/region_testing.h"

namespace dunlin {

// Listens on a socket and opens sessions on a region that nobody serves: enough for what happens
// before the first operation. Thread safe.
class FakeServer {
 public:
  explicit FakeServer(uint64_t incarnation = 77) { Start(TestSuperblock(incarnation)); }
  ~FakeServer() { Stop(); }

  void Start(const Superblock& superblock) {
    region_ = TestRegion(superblock, superblock.region_bytes);
    incarnation_ = superblock.incarnation;
    std::filesystem::remove(path());
    listener_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    DUNLIN_CHECK_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                    0);
    DUNLIN_CHECK_EQ(::listen(listener_.get(), 64), 0);
    acceptor_ = std::thread([this] { Accept(); });
  }

  // As when its process dies: every connection ends.
  void Stop() {
    if (!acceptor_.joinable()) return;
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      MutexLock lock(mutex_);
      for (const UniqueFd& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    MutexLock lock(mutex_);
    sockets_.clear();
  }

  std::string path() const { return folder_.path() + "/socket"; }
  std::string target() const { return "shm://" + path(); }

  int connections() const { return connections_; }
  int hellos() const { return hellos_; }
  int goodbyes() const { return goodbyes_; }
  // What the next welcomes say.
  std::atomic<uint32_t> session_word{3};
  std::atomic<bool> refuse_hello{false};

 private:
  void Accept() {
    for (;;) {
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      ++connections_;
      {
        MutexLock lock(mutex_);
        sockets_.emplace_back(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
      }
      threads_.emplace_back([this, peer = LanePeer(std::move(socket))]() mutable { Serve(peer); });
    }
  }

  void Serve(LanePeer& peer) {
    while (const auto message = peer.Read()) {
      if (message->kind != LaneKind::kControlRequest) continue;  // returned blocks
      control::ControlRequest request;
      DUNLIN_CHECK(request.ParseFromString(message->body));
      control::ControlReply reply;
      int descriptor = -1;
      if (request.has_hello()) {
        descriptor = Hello(reply);
      } else if (request.has_ping()) {
        reply.mutable_ping()->set_server_release("9.8.7");
      } else if (request.has_status()) {
        Status(*reply.mutable_status(), request.status().count_index());
      } else {
        ++goodbyes_;
        reply.mutable_goodbye();
      }
      peer.SendControl(reply, descriptor);
    }
  }

  int Hello(control::ControlReply& reply) {
    if (refuse_hello) {
      reply.set_code(static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
      reply.set_message("64 sessions are open, at most 64");
      return -1;
    }
    reply.mutable_hello()->set_session_id(static_cast<uint32_t>(++hellos_));
    reply.mutable_hello()->set_session_word(session_word);
    reply.mutable_hello()->set_incarnation(incarnation_);
    return region_.get();
  }

  void Status(control::StatusReply& status, bool counted) {
    status.set_server_release("9.8.7");
    status.set_state("serving");
    status.set_incarnation(incarnation_);
    status.set_counted(counted);
    status.set_items(counted ? 12 : 0);
    status.set_heap_bytes(1);
    status.set_heap_used_bytes(2);
    status.set_heap_grace_bytes(3);
    status.set_heap_free_bytes(4);
    control::ClassUse& use = *status.add_classes();
    use.set_size_class(10);
    use.set_block_bytes(104);
    use.set_blocks_used(5);
    use.set_blocks_free(6);
    use.set_bytes(7);
    control::SessionInfo& session = *status.add_sessions();
    session.set_session_id(8);
    session.set_pid(9);
    session.set_client_name("somebody");
    session.set_in_call(true);
    session.set_in_call_ms(10);
  }

  const testing::TemporaryFolder folder_;
  UniqueFd region_;
  uint64_t incarnation_ = 0;
  UniqueFd listener_;
  std::thread acceptor_;
  std::list<std::thread> threads_;  // the acceptor's, until it has been joined
  Mutex mutex_;
  // Duplicates, so that a number stays its connection's until that has been shut down.
  std::list<UniqueFd> sockets_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> connections_{0};
  std::atomic<int> hellos_{0};
  std::atomic<int> goodbyes_{0};
};

}  // namespace dunlin
