#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "client/connect/opener.h"
#include "client/connect/server_health.h"

namespace dunlin {

// Looks after one server over a network on behalf of all sessions of a client: reads its tick by a
// connection of its own, again and again, and counts a loss when it gets no answer. The server's
// processor has no part in that where the fabric is one-sided. Has a thread.
class ServerWatch {
 public:
  // Notices a dead server within about `timeout`.
  ServerWatch(std::shared_ptr<Opener> opener, std::string name, std::chrono::milliseconds timeout,
              std::shared_ptr<ServerHealth> health);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // In a child after fork(): the thread is the parent's.
  void Abandon() { thread_.detach(); }

 private:
  void Run();
  // Until it fails, or, and then true, the watch ends.
  bool ReadTicks(SessionParts& parts);
  // True if the watch ends.
  bool PauseFor(std::chrono::milliseconds time);

  const std::shared_ptr<Opener> opener_;
  const std::string name_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<ServerHealth> health_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace dunlin
