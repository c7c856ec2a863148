#include "tests/rdma/verbs_server_testing.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "common/base/status.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/on_mapping.h"
#include "common/fabric/verbs/out_stream.h"

namespace dunlin {

std::map<std::string, std::string> RdmaAddresses() {
  std::map<std::string, std::string> addresses;
  const char* text = std::getenv("RDMA_TEST_ADDRESSES");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    if (at != std::string::npos) addresses[word.substr(0, at)] = word.substr(at + 1);
  }
  return addresses;
}

void WriteAccess(const RegionAccess& access, FILE* to) {
  std::fprintf(to, "%" PRIu64 " %u %zu\n", access.region_bytes,
               static_cast<unsigned>(access.domain), access.keys.size());
  for (const MemoryKey& key : access.keys) {
    std::fprintf(to, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", key.offset, key.bytes,
                 key.address, key.key);
  }
  std::fflush(to);
}

RegionAccess ReadAccess(FILE* from) {
  RegionAccess access;
  unsigned domain = 0;
  size_t keys = 0;
  if (std::fscanf(from, "%" SCNu64 " %u %zu", &access.region_bytes, &domain, &keys) != 3) return {};
  access.domain = static_cast<AtomicDomain>(domain);
  access.keys.resize(keys);
  for (MemoryKey& key : access.keys) {
    if (std::fscanf(from, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32, &key.offset, &key.bytes,
                    &key.address, &key.key) != 4) {
      return {};
    }
  }
  return access;
}

absl::StatusOr<std::unique_ptr<TestServer>> TestServer::Start(Options options) {
  std::unique_ptr<TestServer> server(new TestServer());
  void* memory = ::mmap(nullptr, options.region_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return absl::ResourceExhaustedError("no memory for the region");
  server->region_ = {static_cast<std::byte*>(memory), options.region_bytes};
  Logger::Options log;
  log.fd = options.log_fd;
  server->log_ = std::make_unique<Logger>(log, &server->clock_);
  options.endpoint.region = server->region_;
  options.endpoint.log = server->log_.get();
  options.endpoint.clock = &server->clock_;
  server->options_ = options;
  DUNLIN_ASSIGN_OR_RETURN(server->endpoint_, VerbsEndpoint::Create(options.endpoint));
  server->wake_ = ::eventfd(0, EFD_NONBLOCK);
  server->epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  DUNLIN_RETURN_IF_ERROR(server->endpoint_->WatchIn(server->epoll_.get(), 0));
  server->thread_ = std::thread([s = server.get()] { s->Run(); });
  return server;
}

TestServer::~TestServer() {
  if (thread_.joinable()) {
    stop_ = true;
    ::eventfd_write(wake_, 1);
    thread_.join();
  }
  // Peers may outlive their endpoint.
  endpoint_.reset();
  sessions_.clear();
  if (wake_ >= 0) ::close(wake_);
  if (!region_.empty()) ::munmap(region_.data(), region_.size());
}

void TestServer::Run() {
  std::vector<std::unique_ptr<EndpointPeer>> accepted;
  std::vector<Endpoint::Ready> ready;
  while (!stop_) {
    pollfd waited[2] = {{epoll_.get(), POLLIN, 0}, {wake_, POLLIN, 0}};
    ::poll(waited, 2, 1000);
    eventfd_t wakes = 0;
    ::eventfd_read(wake_, &wakes);
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      task = task_;
    }
    if (task) {
      task();
      MutexLock lock(mutex_);
      task_ = nullptr;
    }
    endpoint_->Progress(0, EPOLLIN, accepted, ready);
    for (auto& peer : accepted) Accept(std::move(peer));
    for (const Endpoint::Ready& one : ready) Serve(one.tag);
    accepted.clear();
    ready.clear();
  }
}

void TestServer::Accept(std::unique_ptr<EndpointPeer> peer) {
  const uint64_t tag = next_tag_++;
  peer->SetTag(tag);
  {
    MutexLock lock(mutex_);
    access_ = {peer->Access(false), peer->Access(true)};
    replaces_ = peer->replaces();
  }
  sessions_[tag].peer = std::move(peer);
  peer_count_ = sessions_.size();
}

void TestServer::Serve(uint64_t tag) {
  auto found = sessions_.find(tag);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (!options_.serve) {
    // Looks for the end alone.
    hang_ups_ += session.peer->Receive({}).hung_up ? 1 : 0;
    return;
  }
  if (ReceiveAll(session)) SendAll(session);
}

bool TestServer::ReceiveAll(Session& session) {
  std::byte buffer[8192];
  for (;;) {
    const Transfer got = session.peer->Receive(buffer);
    std::string why = got.why;
    if (got.hung_up) why = "hung up";
    if (got.bytes != 0) {
      why = session.assembler.Add(std::span(buffer).first(got.bytes),
                                  [&](LaneKind kind, std::span<const std::byte> body) {
                                    return Answer(session, kind, body);
                                  });
    }
    if (!why.empty()) {
      for (auto& [tag, one] : sessions_) {
        if (&one == &session) {
          End(tag, why);
          return false;
        }
      }
    }
    if (got.bytes == 0) return true;
  }
}

bool TestServer::SendAll(Session& session) {
  while (session.sent < session.out.size()) {
    const Transfer put = session.peer->Send(std::span(session.out).subspan(session.sent));
    if (put.bytes == 0) return true;
    session.sent += put.bytes;
  }
  session.out.clear();
  session.sent = 0;
  return true;
}

std::string TestServer::Answer(Session& session, LaneKind kind, std::span<const std::byte> body) {
  switch (kind) {
    case LaneKind::kHeartbeat:
      AppendLaneFrame(LaneKind::kHeartbeat, body, {}, session.out);
      return "";
    case LaneKind::kBlocksRequest:
      AppendLaneFrame(LaneKind::kBlocksReply, body, {}, session.out);
      return "";
    case LaneKind::kChainRequest: {
      ++chain_requests_;
      ReceivedChain received;
      std::string why = ParseChainRequest(body, region_.size(), false, &received);
      if (!why.empty()) return why;
      std::vector<std::byte> reply(received.reply_bytes);
      PlaceChainReply(received, reply);
      ExecuteChain(received.chain, region_.data());
      FinishChainReply(received, reply);
      if (!received.continues) AppendLaneFrame(LaneKind::kChainReply, reply, {}, session.out);
      return "";
    }
    default:
      return "";
  }
}

void TestServer::End(uint64_t tag, const std::string& why) {
  {
    MutexLock lock(mutex_);
    ends_.push_back(why);
  }
  sessions_.erase(tag);
  peer_count_ = sessions_.size();
  ++ended_;
}

RegionAccess TestServer::Access(bool read_only) {
  Await([&] {
    MutexLock lock(mutex_);
    return !access_.empty();
  });
  MutexLock lock(mutex_);
  return access_.empty() ? RegionAccess{} : access_[read_only ? 1 : 0];
}

std::vector<std::string> TestServer::ends() {
  MutexLock lock(mutex_);
  return ends_;
}

EndpointPeer::Replaced TestServer::last_replaces() {
  MutexLock lock(mutex_);
  return replaces_;
}

void TestServer::Do(std::function<void()> what) {
  {
    MutexLock lock(mutex_);
    task_ = std::move(what);
  }
  ::eventfd_write(wake_, 1);
  Await([&] {
    MutexLock lock(mutex_);
    return task_ == nullptr;
  });
}

void TestServer::DropAllPeers() {
  Do([this] { DropSessions(); });
}

void TestServer::DropSessions() {
  sessions_.clear();
  peer_count_ = 0;
}

bool TestServer::Await(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (!condition()) {
    if (deadline.NanosLeft() == 0) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace dunlin
