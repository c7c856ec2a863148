#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/sync.h"
#include "common/base/unique_fd.h"
#include "common/fabric/verbs/frame_assembler.h"
#include "common/fabric/verbs/verbs_endpoint.h"

namespace dunlin {

// "rxe" -> "10.1.0.1", as the harness found them; empty where it runs nothing.
std::map<std::string, std::string> RdmaAddresses();

// What a session may use, as text, for other processes.
void WriteAccess(const RegionAccess& access, FILE* to);
RegionAccess ReadAccess(FILE* from);

// A server as far as the fabric's tests need one: a region, an endpoint and a thread that serves
// its peers. It echoes heartbeats, answers kBlocksRequest with the same bytes as kBlocksReply, and
// executes kChainRequests.
class TestServer {
 public:
  struct Options {
    VerbsEndpointOptions endpoint;  // region, log and clock are filled in
    size_t region_bytes = 1u << 20;
    int log_fd = 2;
    bool serve = true;  // false: peers are accepted, but what they send is left alone
  };
  static absl::StatusOr<std::unique_ptr<TestServer>> Start(Options options);
  ~TestServer();

  std::byte* region() const { return region_.data(); }
  std::span<std::byte> region_span() const { return region_; }
  VerbsEndpoint& endpoint() const { return *endpoint_; }
  std::string port() const { return std::to_string(endpoint_->port()); }

  // Of peers: what they may use. They are all alike. Waits for the first peer.
  RegionAccess Access(bool read_only);
  // The number of peers now, and of all that have ended.
  size_t peers() const { return peer_count_.load(); }
  size_t ended() const { return ended_.load(); }
  // Of peers, even where they aren't served.
  size_t hang_ups() const { return hang_ups_.load(); }
  std::vector<std::string> ends();
  uint64_t chain_requests() const { return chain_requests_.load(); }
  EndpointPeer::Replaced last_replaces();

  // Runs in the server's thread, and waits for it.
  void Do(std::function<void()> what);
  void DropAllPeers();
  void DropSessions();  // the same, in the server's thread
  // Until the condition holds; false after ten seconds.
  static bool Await(const std::function<bool()>& condition);

 private:
  struct Session {
    std::unique_ptr<EndpointPeer> peer;
    FrameAssembler assembler;
    std::vector<std::byte> out;
    size_t sent = 0;
  };
  TestServer() = default;
  void Run();
  void Accept(std::unique_ptr<EndpointPeer> peer);
  void Serve(uint64_t tag);
  bool ReceiveAll(Session& session);
  bool SendAll(Session& session);
  std::string Answer(Session& session, LaneKind kind, std::span<const std::byte> body);
  void End(uint64_t tag, const std::string& why);

  Options options_;
  SystemClock clock_;
  std::unique_ptr<Logger> log_;
  std::span<std::byte> region_;
  std::unique_ptr<VerbsEndpoint> endpoint_;
  std::atomic<bool> stop_{false};
  UniqueFd epoll_;
  int wake_ = -1;
  std::thread thread_;
  std::map<uint64_t, Session> sessions_;
  uint64_t next_tag_ = 1;
  std::atomic<size_t> peer_count_{0};
  std::atomic<size_t> ended_{0};
  std::atomic<size_t> hang_ups_{0};
  std::atomic<uint64_t> chain_requests_{0};

  Mutex mutex_;
  std::vector<RegionAccess> access_ ABSL_GUARDED_BY(mutex_);  // read-write, read-only
  std::vector<std::string> ends_ ABSL_GUARDED_BY(mutex_);
  EndpointPeer::Replaced replaces_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> task_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dunlin
