#include <cstring>
#include <utility>

#include "client/connect/opener.h"
#include "client/connect/read_by_chain.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

absl::Status Refused(const std::string& why) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, why);
}

std::string WhyNotCovering(const std::vector<MemoryKey>& keys, uint64_t region_bytes) {
  uint64_t next = 0;
  for (const MemoryKey& key : keys) {
    if (key.offset != next || key.bytes == 0 || key.bytes > region_bytes - next) {
      return "memory keys: expected one from " + std::to_string(next) + " on, found " +
             std::to_string(key.bytes) + " bytes at " + std::to_string(key.offset);
    }
    next += key.bytes;
  }
  if (!keys.empty() && next != region_bytes) {
    return "memory keys: expected " + std::to_string(region_bytes) + " bytes, found " +
           std::to_string(next);
  }
  return "";
}

class RemoteOpener final : public Opener {
 public:
  RemoteOpener(Dial dial, std::shared_ptr<ForkGuard> guard)
      : dial_(std::move(dial)), guard_(std::move(guard)) {}

  absl::StatusOr<std::unique_ptr<SessionParts>> OpenSession(const Request& request,
                                                            Deadline deadline) override {
    auto parts = std::make_unique<SessionParts>();
    parts->guard = guard_;
    DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<RemoteConnection> connection, dial_(deadline));
    RemoteConnection& remote = *connection;
    parts->lane = std::make_unique<Lane>(std::move(connection));
    DUNLIN_ASSIGN_OR_RETURN(
        const Lane::Welcome welcome,
        parts->lane->Hello({request.name, request.read_only, request.replaces,
                            request.replaces_token, request.replaces_incarnation},
                           deadline));
    parts->session_id = welcome.session_id;
    parts->session_word = welcome.session_word;
    parts->token = welcome.token;
    parts->read_only = request.read_only;
    if (std::string why = WhyNotCovering(welcome.keys, welcome.region_bytes); !why.empty()) {
      return Refused(why);
    }
    RegionAccess access;
    access.region_bytes = welcome.region_bytes;
    access.read_only = request.read_only;
    access.domain = welcome.nic_atomics ? AtomicDomain::kNic : AtomicDomain::kCpu;
    access.follows = welcome.follows;
    access.keys = welcome.keys;
    parts->channel = remote.OpenChannel(std::move(access));
    DUNLIN_RETURN_IF_ERROR(ReadSuperblock(welcome, deadline, *parts));
    return parts;
  }

  absl::StatusOr<std::unique_ptr<Lane>> OpenLane(Deadline deadline) override {
    DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<RemoteConnection> connection, dial_(deadline));
    return std::make_unique<Lane>(std::move(connection));
  }

  bool remote() const override { return true; }

 private:
  static absl::Status ReadSuperblock(const Lane::Welcome& welcome, Deadline deadline,
                                     SessionParts& parts) {
    if (welcome.region_bytes < sizeof parts.constants) {
      return Refused("region of " + std::to_string(welcome.region_bytes) + " bytes");
    }
    // What it takes says how far off the tick may be by now: a process that was held up reads
    // again.
    constexpr int64_t kGoodNanos = 2'000'000;
    constexpr int kAttempts = 3;
    const Clock& clock = deadline.clock();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const int64_t asked = clock.NowNanos();
      DUNLIN_RETURN_IF_ERROR(ReadByChain(
          *parts.channel, 0, std::as_writable_bytes(std::span(&parts.constants, 1)), deadline));
      const int64_t answered = clock.NowNanos();
      if (attempt != 0 && answered - asked >= parts.tick_answered - parts.tick_asked) continue;
      parts.tick = parts.constants.tick;
      parts.tick_asked = asked;
      parts.tick_answered = answered;
      if (answered - asked <= kGoodNanos) break;
    }
    if (std::string why = WhyNotUsable(parts.constants, welcome.region_bytes); !why.empty()) {
      return Refused(why);
    }
    if (parts.constants.incarnation != welcome.incarnation) {
      return Refused("incarnation: expected " + std::to_string(welcome.incarnation) +
                     " from the server's welcome, found " +
                     std::to_string(parts.constants.incarnation));
    }
    return absl::OkStatus();
  }

  const Dial dial_;
  const std::shared_ptr<ForkGuard> guard_;
};

}  // namespace

std::unique_ptr<Opener> MakeRemoteOpener(Dial dial, std::shared_ptr<ForkGuard> guard) {
  return std::make_unique<RemoteOpener>(std::move(dial), std::move(guard));
}

}  // namespace dunlin
