#include "tests/simulator/link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/fabric/chain_frames.h"
#include "common/layout/lane.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kKernelCloses = 20 * kMillisecond;  // of a killed process, at the latest
constexpr int64_t kPeerTimeout = 500 * kMillisecond;  // keepalive, in both directions

std::string FrameOf(LaneKind kind, std::span<const std::byte> body) {
  LaneFrame frame{};
  frame.bytes = static_cast<uint32_t>(body.size());
  frame.kind = static_cast<uint16_t>(kind);
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes.append(reinterpret_cast<const char*>(body.data()), body.size());
  return bytes;
}

}  // namespace

Link::Link(World* world, const Faults* faults, Process* client, uint64_t number,
           std::shared_ptr<Region> region, std::function<void()> notify)
    : world_(*world),
      faults_(*faults),
      client_(client),
      number_(number),
      region_(std::move(region)),
      notify_(std::move(notify)) {}

int64_t Link::Latency() {
  Random& random = world_.random();
  if (faults_.longest_delay != 0 && random.OneIn(faults_.tail_one_in)) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(faults_.longest_delay)));
  }
  return faults_.latency / 2 +
         static_cast<int64_t>(random.Below(static_cast<uint64_t>(faults_.latency)));
}

void Link::DeliverToServer(std::string bytes, int64_t at) {
  last_to_server_ = std::max(last_to_server_, at);
  world_.At(last_to_server_, [self = shared_from_this(), bytes = std::move(bytes)] {
    if (self->cut_ || !self->server_open_) return;
    self->server_inbox_ += bytes;
    self->notify_();
  });
}

void Link::SendToServer(std::string bytes) {
  if (!client_error_.empty() || bytes.empty()) return;
  DeliverToServer(std::move(bytes), world_.now() + Latency());
}

void Link::SendToClient(std::string bytes) {
  last_to_client_ = std::max(last_to_client_, world_.now() + Latency());
  world_.At(last_to_client_, [self = shared_from_this(), bytes = std::move(bytes)] {
    if (self->cut_ || !self->client_error_.empty() || !self->client_open_) return;
    self->client_inbox_ += bytes;
    self->client_->Wake();
  });
}

void Link::Post(Chain* chain, std::function<void(Chain*)> done) {
  uint32_t end = chain->count;
  if (faults_.carrier == Carrier::kMixed) end = FirstAtomic(*chain);
  if (faults_.carrier == Carrier::kFrames) end = 0;
  if (end == 0) return PostFrames(chain, 0);
  auto flight = std::make_shared<Flight>(&world_, &faults_, chain, end);
  flights_.push_back(flight);
  // What the server sends or closes meanwhile doesn't hold the adapter's acknowledgement.
  flight->Start(region_, Latency(),
                [self = shared_from_this(), flight, end, done = std::move(done)] {
                  if (flight->chain() != nullptr && end != flight->chain()->count) {
                    Chain* const rest = flight->chain();
                    std::erase(self->flights_, flight);
                    self->PostFrames(rest, end);
                    return;
                  }
                  self->world_.After(self->Latency(), [self, flight, done] {
                    if (self->cut_) return;
                    std::erase(self->flights_, flight);
                    if (flight->chain() != nullptr) done(flight->chain());
                  });
                });
  if (cut_ || !server_open_) flight->Stop();
}

void Link::PostFrames(Chain* chain, uint32_t first) {
  awaited_.push_back(chain);
  std::vector<std::byte> buffer;
  std::string bytes;
  ComposeChainRequests(*chain, first, buffer, [&bytes](std::span<const std::byte> body) {
    bytes += FrameOf(LaneKind::kChainRequest, body);
  });
  // The one-sided part has come there already.
  if (first != 0) return DeliverToServer(std::move(bytes), world_.now());
  SendToServer(std::move(bytes));
}

std::vector<Chain*> Link::TakeBack() {
  std::vector<Chain*> chains(awaited_.begin(), awaited_.end());
  awaited_.clear();
  for (const auto& flight : flights_) {
    Chain* const chain = flight->chain();
    if (chain == nullptr) continue;
    // Not begun: the adapter may still have it in its hands, or it has left.
    if (!flight->begun() && world_.random().OneIn(2)) {
      flight->Stop();
      chain->outcome = ChainOutcome::kNotExecuted;
    } else {
      chain->outcome = ChainOutcome::kUnknown;
    }
    flight->Detach();
    chains.push_back(chain);
  }
  return chains;
}

void Link::Abandon() {
  awaited_.clear();
  for (const auto& flight : flights_) flight->Detach();
}

void Link::TellServer(int64_t delay) {
  last_to_server_ = std::max(last_to_server_, world_.now() + delay);
  world_.At(last_to_server_, [self = shared_from_this()] {
    if (!self->server_open_) return;
    self->client_hung_up_ = true;
    self->notify_();
  });
}

void Link::CloseClient() {
  if (!client_open_) return;
  client_open_ = false;
  if (client_error_.empty()) client_error_ = "closed";
  TellServer(cut_ ? kPeerTimeout : Latency());
}

void Link::KillClient() {
  if (!client_open_) return;
  client_open_ = false;
  client_error_ = "the process was killed";
  DropFlights(false);
  TellServer(cut_ ? kPeerTimeout : static_cast<int64_t>(world_.random().Below(kKernelCloses)) + 1);
}

// All of them, or each perhaps: it may have reached the server's adapter before.
void Link::DropFlights(bool all) {
  for (const auto& flight : flights_) {
    if (all || world_.random().OneIn(2)) flight->Stop();
  }
}

void Link::BreakClient(std::string why) {
  if (!client_error_.empty()) return;
  client_error_ = std::move(why);
  client_->Wake();
}

void Link::CloseServer() {
  if (!server_open_) return;
  server_open_ = false;
  world_.Note(Happening::kFenced, number_);
  if (faults_.breakage != Breakage::kLateFence) DropFlights(true);
  if (cut_) return;
  last_to_client_ = std::max(last_to_client_, world_.now() + Latency());
  world_.At(last_to_client_, [self = shared_from_this()] {
    if (!self->cut_) self->BreakClient("the server has closed the connection");
  });
}

void Link::CrashServer() {
  if (!server_open_) return;
  server_open_ = false;
  DropFlights(true);
  // A host that is gone with its kernel closes nothing.
  const bool silent = world_.random().Below(100) < faults_.silent_percent;
  const int64_t delay = silent ? kPeerTimeout : Latency();
  world_.After(delay, [self = shared_from_this()] { self->BreakClient("the server is gone"); });
}

void Link::Cut(bool silent) {
  if (cut_) return;
  world_.Note(Happening::kCut, number_, silent);
  cut_ = true;
  DropFlights(false);
  auto delay = [&] {
    return silent ? kPeerTimeout
                  : static_cast<int64_t>(world_.random().Below(20 * kMillisecond)) + 1;
  };
  world_.After(delay(), [self = shared_from_this()] { self->BreakClient("the network is down"); });
  if (client_open_) TellServer(delay());
}

}  // namespace dunlin::simulator
