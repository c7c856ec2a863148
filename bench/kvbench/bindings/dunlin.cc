#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"
#include "dunlin/client.h"
#include "dunlin/session.h"

namespace dunlin::kvbench {
namespace {

constexpr std::string_view kShm = "shm://";

Return ReturnOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return Return::kOk;
    case Outcome::kNotFound:
      return Return::kNotFound;
    case Outcome::kUnknown:
      return Return::kUnknown;
    default:
      return Return::kError;
  }
}

// Where the values of a call's reads go: a room for each, all of one size.
class Rooms {
 public:
  std::span<std::byte> At(size_t index) {
    return std::span(bytes_).subspan(index * stride_, stride_ - kGap);
  }
  void Reserve(size_t count) {
    if (count * stride_ > bytes_.size()) bytes_.resize(count * stride_);
  }
  // Makes all rooms so large, and invalidates what is in them.
  void Enlarge(uint64_t value_bytes) {
    const size_t count = bytes_.size() / stride_;
    const size_t roomy = value_bytes + value_bytes / 4;
    stride_ = (roomy + kGap) / kGap * kGap + kGap;
    bytes_.resize(count * stride_);
  }

 private:
  // Rooms a power of two apart would share few sets of the processor's cache.
  static constexpr size_t kGap = 64;
  size_t stride_ = 256 + kGap;
  std::vector<std::byte> bytes_;
};

class DunlinSession final : public BindingSession {
 public:
  // `remote`: a round trip is worth saving.
  DunlinSession(std::unique_ptr<Session> session, bool remote)
      : session_(std::move(session)), remote_(remote) {
    rooms_.Reserve(1);
  }

  void Execute(std::span<Request> requests) override {
    if (requests.size() == 1) {
      One(requests[0]);
    } else {
      Many(requests);
    }
  }

  std::string last_error() const override {
    if (failed_ == Outcome::kOk) return {};
    const absl::Status connection = session_->connection();
    std::string text(OutcomeName(failed_));
    if (!connection.ok()) text += ": " + std::string(FromAbsl(connection.message()));
    return text;
  }

  FabricCounts fabric() const override {
    const Stats stats = session_->stats();
    return {.known = true,
            .operations = stats.gets + stats.puts + stats.removes,
            .round_trips = stats.round_trips,
            .verbs = stats.verbs};
  }

 private:
  void Settle(Request& request, Outcome outcome) {
    request.returned = ReturnOf(outcome);
    if (request.returned == Return::kError || request.returned == Return::kUnknown) {
      failed_ = outcome;
    }
  }

  void Read(Request& request) {
    GetResult result = session_->GetInto(AsBytes(request.key), rooms_.At(0));
    while (result.outcome == Outcome::kBufferTooSmall) {
      rooms_.Enlarge(result.value_bytes);
      result = session_->GetInto(AsBytes(request.key), rooms_.At(0));
    }
    Settle(request, result.outcome);
    if (result.ok()) {
      request.found = {reinterpret_cast<const char*>(rooms_.At(0).data()), result.value_bytes};
    }
  }

  void One(Request& request) {
    switch (request.op) {
      case Op::kRead:
        Read(request);
        return;
      case Op::kUpdate:
      case Op::kInsert:
        Settle(request, session_->PutBytes(AsBytes(request.key), AsBytes(request.value)).outcome);
        return;
      case Op::kDelete:
        Settle(request, session_->RemoveBytes(AsBytes(request.key)).outcome);
        return;
    }
  }

  void Many(std::span<Request> requests) {
    gets_.clear();
    puts_.clear();
    removes_.clear();
    for (const Request& request : requests) {
      const Bytes key = AsBytes(request.key);
      if (request.op == Op::kRead) {
        gets_.push_back({.key = key});
      } else if (request.op == Op::kDelete) {
        removes_.push_back({.key = key});
      } else {
        puts_.push_back({.key = key, .value = AsBytes(request.value)});
      }
    }
    if (remote_ && !gets_.empty() && !puts_.empty()) {
      Together();
    } else {
      if (!gets_.empty()) GetAll();
      if (!puts_.empty()) session_->MultiPut(puts_);
    }
    if (!removes_.empty()) session_->MultiRemove(removes_);
    SettleAll(requests);
  }

  // Gets and puts in the same round trips.
  void Together() {
    rooms_.Reserve(gets_.size());
    bool too_small = false;
    for (size_t i = 0; i < gets_.size(); ++i) {
      GetRequest& get = gets_[i];
      get.buffer = rooms_.At(i);
      const auto done = [&get, &too_small](const GetResult& result) {
        get.result = result;
        too_small |= result.outcome == Outcome::kBufferTooSmall;
      };
      while (!session_->SubmitGet(get.key, get.buffer, done)) session_->Poll();
    }
    for (PutRequest& put : puts_) {
      const auto done = [&put](const WriteResult& result) { put.result = result; };
      while (!session_->SubmitPut(put.key, put.value, done)) session_->Poll();
    }
    session_->Drain();
    if (too_small) GetAll();
  }

  // Again if a value didn't fit: all of them, as larger rooms are elsewhere.
  void GetAll() {
    rooms_.Reserve(gets_.size());
    for (;;) {
      for (size_t i = 0; i < gets_.size(); ++i) gets_[i].buffer = rooms_.At(i);
      session_->MultiGet(gets_);
      uint64_t largest = 0;
      for (const GetRequest& get : gets_) {
        if (get.result.outcome == Outcome::kBufferTooSmall) {
          largest = std::max(largest, get.result.value_bytes);
        }
      }
      if (largest == 0) return;
      rooms_.Enlarge(largest);
    }
  }

  void SettleAll(std::span<Request> requests) {
    size_t get = 0, put = 0, remove = 0;
    for (Request& request : requests) {
      if (request.op == Op::kDelete) {
        Settle(request, removes_[remove++].result.outcome);
      } else if (request.op != Op::kRead) {
        Settle(request, puts_[put++].result.outcome);
      } else {
        const GetRequest& got = gets_[get++];
        Settle(request, got.result.outcome);
        if (got.result.ok()) {
          request.found = {reinterpret_cast<const char*>(got.buffer.data()),
                           got.result.value_bytes};
        }
      }
    }
  }

  const std::unique_ptr<Session> session_;
  const bool remote_;
  Rooms rooms_;
  std::vector<GetRequest> gets_;
  std::vector<PutRequest> puts_;
  std::vector<RemoveRequest> removes_;
  Outcome failed_ = Outcome::kOk;
};

// The process that listens on a Unix socket.
std::optional<pid_t> ListenerOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (fd.get() < 0 ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return std::nullopt;
  }
  return peer.pid;
}

std::optional<uint64_t> CpuNanosOf(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

class DunlinBinding final : public Binding {
 public:
  DunlinBinding(std::unique_ptr<Client> client, SessionOptions options, std::optional<pid_t> pid,
                std::string release)
      : client_(std::move(client)),
        options_(options),
        pid_(pid),
        release_(std::move(release)),
        remote_(!client_->target().starts_with(kShm)) {}

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, client_->OpenSession(options_));
    return std::make_unique<DunlinSession>(std::move(session), remote_);
  }

  ServerUse Use() override {
    const absl::StatusOr<ServerStatus> status = client_->Status();
    const std::optional<uint64_t> cpu = pid_ ? CpuNanosOf(*pid_) : std::nullopt;
    if (!status.ok() || !cpu) return {};
    return {
        .known = true,
        .cpu_nanos = *cpu,
        .memory_bytes = status->heap_used_bytes + status->index_bytes - status->index_spare_bytes};
  }

  std::string Describe() const override {
    const std::string& target = client_->target();
    return "dunlin " + release_ + ", " + target.substr(0, target.find(':'));
  }

 private:
  const std::unique_ptr<Client> client_;
  const SessionOptions options_;
  const std::optional<pid_t> pid_;
  const std::string release_;
  const bool remote_;
};

absl::StatusOr<SessionOptions> ReadOptions(const Properties& properties) {
  SessionOptions options;
  const std::string cache = properties.Get("dunlin.cache", "");
  if (!cache.empty()) {
    const absl::StatusOr<uint64_t> bytes = ParseSize(cache);
    if (!bytes.ok()) return WithContext(bytes.status(), "property dunlin.cache");
    options.location_cache_bytes = *bytes;
  }
  DUNLIN_ASSIGN_OR_RETURN(const int64_t deadline,
                          properties.GetInt("dunlin.deadline", options.default_deadline.count()));
  if (deadline < 1) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "property dunlin.deadline: expected milliseconds above 0, found " +
                          std::to_string(deadline));
  }
  options.default_deadline = Milliseconds(deadline);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeDunlin(const Properties& properties) {
  const std::string target = properties.Get("dunlin.target", "shm:///run/dunlin/dunlin.sock");
  DUNLIN_ASSIGN_OR_RETURN(const SessionOptions options, ReadOptions(properties));
  DUNLIN_ASSIGN_OR_RETURN(const int64_t told_pid, properties.GetInt("dunlin.pid", 0));
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(target, {.name = "kvbench"});
  if (!client.ok()) {
    return WithContext(client.status(), "dunlin.target=" + target);
  }
  const auto pong = (*client)->Ping();
  if (!pong.ok()) return pong.status();
  std::optional<pid_t> pid;
  if (told_pid > 0) {
    pid = static_cast<pid_t>(told_pid);
  } else if ((*client)->target().starts_with(kShm)) {
    pid = ListenerOf((*client)->target().substr(kShm.size()));
  }
  return std::make_unique<DunlinBinding>(*std::move(client), options, pid, pong->release);
}

}  // namespace dunlin::kvbench
