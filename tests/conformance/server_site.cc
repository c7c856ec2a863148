#include <signal.h>

#include <chrono>
#include <utility>

#include "client/connect/fork_guard.h"
#include "client/connect/opener.h"
#include "common/base/host_port.h"
#include "common/base/status.h"
#include "common/layout/size_class.h"
#include "common/layout/slot.h"
#include "tests/conformance/site.h"
#include "tests/support/server_process.h"

namespace dunlin::testing {
namespace {

constexpr std::chrono::milliseconds kPatience{20'000};
constexpr std::chrono::milliseconds kSilence{10'000};
// Small blocks are asked for so many at once.
constexpr uint64_t kSlabBytes = 16'384;

class ServerSeat final : public Seat {
 public:
  explicit ServerSeat(std::unique_ptr<SessionParts> parts) : parts_(std::move(parts)) {}

  Channel& channel() override { return *parts_->channel; }
  Lane* lane() override { return parts_->lane.get(); }
  uint64_t region_bytes() const override { return parts_->constants.region_bytes; }

  absl::StatusOr<uint64_t> Take(uint64_t bytes) override {
    bytes = (bytes + 7) / 8 * 8;
    if (bytes <= left_) {
      next_ += bytes;
      left_ -= bytes;
      return next_ - bytes;
    }
    DUNLIN_ASSIGN_OR_RETURN(const uint64_t block, TakeBlock(std::max(bytes, kSlabBytes)));
    if (bytes < kSlabBytes) {
      next_ = block + bytes;
      left_ = kSlabBytes - bytes;
    }
    return block;
  }

 private:
  absl::StatusOr<uint64_t> TakeBlock(uint64_t bytes) {
    const SizeClass size_class = ClassFor(bytes);
    const uint64_t run_bytes = size_class == kRunClass ? bytes : 0;
    DUNLIN_ASSIGN_OR_RETURN(
        const Lane::Blocks blocks,
        parts_->lane->RequestBlocks(size_class, 1, run_bytes, 0, Deadline::After(kPatience)));
    if (blocks.words.empty()) {
      return absl::ResourceExhaustedError("the server has no block of " + std::to_string(bytes) +
                                          " bytes");
    }
    return parts_->constants.heap_offset + SlotWord(blocks.words[0]).heap_offset();
  }

  std::unique_ptr<SessionParts> parts_;
  uint64_t next_ = 0;
  uint64_t left_ = 0;
};

class ServerSite final : public Site {
 public:
  ServerSite(std::unique_ptr<ServerProcess> server, std::shared_ptr<ForkGuard> guard,
             std::unique_ptr<Opener> opener, const std::string& fabric)
      : server_(std::move(server)), guard_(std::move(guard)), opener_(std::move(opener)) {
    if (fabric == "shm") {
      traits_.executes_in_poll = true;
      traits_.shares_connection = false;
    } else {
      beside_ = MakeShmOpener(server_->socket(), guard_);
    }
    // One thread of the server carries out all chains, each in one go.
    if (fabric == "tcp") {
      traits_.tears = false;
      traits_.follows = true;
    }
  }

  const SiteTraits& traits() const override { return traits_; }

  absl::StatusOr<std::unique_ptr<Seat>> Open(bool read_only) override {
    return OpenBy(*opener_, read_only);
  }
  std::unique_ptr<Seat> OpenByOtherFabric() override {
    if (beside_ == nullptr) return nullptr;
    auto seat = OpenBy(*beside_, false);
    return seat.ok() ? std::move(*seat) : nullptr;
  }

  void StopServer() override { kill(server_->pid(), SIGSTOP); }
  void ContinueServer() override { kill(server_->pid(), SIGCONT); }
  void KillServer() override { server_->Kill(); }

 private:
  static absl::StatusOr<std::unique_ptr<Seat>> OpenBy(Opener& opener, bool read_only) {
    Opener::Request request;
    request.name = "conformance";
    request.read_only = read_only;
    DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<SessionParts> parts,
                            opener.OpenSession(request, Deadline::After(kPatience)));
    return std::make_unique<ServerSeat>(std::move(parts));
  }

  SiteTraits traits_;
  const std::unique_ptr<ServerProcess> server_;
  const std::shared_ptr<ForkGuard> guard_;
  const std::unique_ptr<Opener> opener_;
  std::unique_ptr<Opener> beside_;  // to the same server by shared memory
};

}  // namespace

absl::StatusOr<std::unique_ptr<Site>> MakeServerSite() {
  const TestFabric fabric = FabricUnderTest();
  DUNLIN_ASSIGN_OR_RETURN(
      std::unique_ptr<ServerProcess> server,
      ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY,
                            .more = {"--huge-pages=never"},  // others may have taken them
                            .fabric = fabric}));
  DUNLIN_ASSIGN_OR_RETURN(std::shared_ptr<ForkGuard> guard, ForkGuard::Create());
  std::unique_ptr<Opener> opener;
  if (fabric.name == "shm") {
    opener = MakeShmOpener(server->socket(), guard);
  } else {
    const std::string target = server->target();
    DUNLIN_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(target.substr(target.find("://") + 3)));
    opener = fabric.name == "tcp" ? MakeTcpOpener(std::move(address), kSilence, guard)
                                  : MakeRdmaOpener(std::move(address), guard);
  }
  return std::make_unique<ServerSite>(std::move(server), std::move(guard), std::move(opener),
                                      fabric.name);
}

}  // namespace dunlin::testing
