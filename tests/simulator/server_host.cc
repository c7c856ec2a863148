#include "tests/simulator/server_host.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "server/options.h"
#include "server/region_plan.h"
#include "server/region_view.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kTurnNanos = 3 * kMicrosecond;
constexpr int64_t kWorkNanos = 20 * kMicrosecond;
constexpr int64_t kIdle = 100 * kMillisecond;
// As in server/server.cc.
constexpr int64_t kPatrolTurn = 500 * kMicrosecond;
constexpr uint64_t kPatrolPiece = 40 * kMicrosecond;
constexpr double kShare = 0.02;
constexpr double kUrgentShare = 0.5;
constexpr int64_t kWall = 1'767'225'600 * kSecond;

// The server's end of a Link, as the shipping server knows connections.
class Peer final : public EndpointPeer {
 public:
  Peer(std::shared_ptr<Link> link, uint64_t region_bytes)
      : link_(std::move(link)),
        name_("simulated " + std::to_string(link_->number())),
        region_bytes_(region_bytes) {}
  ~Peer() override { link_->CloseServer(); }

  Transfer Receive(std::span<std::byte> buffer) override {
    Transfer came;
    std::string& inbox = link_->server_inbox();
    came.bytes = std::min(buffer.size(), inbox.size());
    std::memcpy(buffer.data(), inbox.data(), came.bytes);
    inbox.erase(0, came.bytes);
    came.hung_up = inbox.empty() && link_->client_hung_up();
    return came;
  }
  Transfer Send(std::span<const std::byte> bytes) override {
    link_->SendToClient(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    Transfer sent;
    sent.bytes = bytes.size();
    return sent;
  }
  void SetTag(uint64_t) override {}
  const std::string& name() const override { return name_; }
  RegionAccess Access(bool read_only) const override {
    RegionAccess access;
    access.region_bytes = region_bytes_;
    access.read_only = read_only;
    return access;
  }

 private:
  const std::shared_ptr<Link> link_;
  const std::string name_;
  const uint64_t region_bytes_;
};

// Ticks are whole milliseconds, and the server's clock may jump forward again and again.
int64_t GraceSlack(const Faults& faults) {
  if (faults.jump_every == 0) return 2 * kMillisecond;
  return 2 * kMillisecond + 8 * faults.longest_jump;
}

}  // namespace

ServerHost::~ServerHost() {
  lanes_.clear();
  core_.reset();
}

void ServerHost::Start() {
  DUNLIN_CHECK(!up());
  ServerOptions options;
  options.memory = faults_.memory;
  options.records = 1;
  options.mode = static_cast<size_t>(faults_.cache ? Mode::kCache : Mode::kStore);
  options.grace = int64_t{faults_.grace_ms} * kMillisecond;
  options.max_sessions = 256;
  options.max_value_size = std::max<uint64_t>(faults_.largest_value, 4096);
  RegionSeed seed;
  seed.incarnation = world_.random().Next() | 1;
  seed.hash_seed = world_.random().Next();
  seed.max_value_is_default = true;
  absl::StatusOr<Superblock> plan = PlanRegion(options, seed);
  DUNLIN_CHECK(plan.ok());
  plan_ = *plan;
  // Smaller subtables than a server's, so that a few hundred records make the index grow.
  plan_.buckets_per_subtable = faults_.buckets;
  plan_.index_bytes = uint64_t{faults_.buckets} * kBucketBytes;
  plan_.directory_root = DirectoryRoot::Make(plan_.directory_offset, 0, 1).raw();
  SealSuperblock(plan_);
  region_ = std::make_shared<Region>(plan_, GraceSlack(faults_));
  FormatRegion(base(), plan_);
  ServerCore::Config config;
  config.release = "simulated";
  config.first_version = static_cast<uint64_t>(kWall + world_.now());
  config.token_seed = world_.random().Next();
  config.cache = faults_.cache;
  config.patrol_period = faults_.patrol_period_ms;
  config.lock_patience = faults_.lock_patience_ms;
  // What the server believes; its clients go by what the region says.
  Superblock believed = plan_;
  if (faults_.breakage == Breakage::kNoGrace) believed.grace_ms = 1;
  core_ = std::make_unique<ServerCore>(base(), believed, std::move(config));
  core_->SetState(ServerState::kServing);
  started_ = NowNanos();
  pacer_.emplace(started_);
  ++counts_.starts;
  world_.Note(Happening::kServerStart, plan_.incarnation);
  WakeAt(world_.now());
}

void ServerHost::Crash() {
  DUNLIN_CHECK(up());
  world_.Note(Happening::kServerCrash, plan_.incarnation);
  TakeFault();
  CountWork();
  for (auto& [id, lane] : lanes_) lane.link->CrashServer();
  lanes_.clear();
  core_.reset();
  ++counts_.crashes;
  crash_times_.push_back(world_.now());
  next_turn_ = kNever;
  ++turn_ticket_;
}

void ServerHost::TakeFault() {
  if (!region_->fault().empty()) faults_found_.push_back(region_->fault());
}

void ServerHost::Stall(int64_t until) {
  ++counts_.stalls;
  world_.Note(Happening::kServerStall, static_cast<uint64_t>(until - world_.now()));
  stalled_until_ = std::max(stalled_until_, until);
}

std::shared_ptr<Link> ServerHost::Accept(Process* client, uint64_t number) {
  auto link = std::make_shared<Link>(&world_, &faults_, client, number, region_, [this] {
    if (up()) WakeAt(world_.now() + kTurnNanos);
  });
  Lane& lane = lanes_[next_lane_++];
  lane.link = link;
  lane.connection =
      std::make_unique<LaneConnection>(std::make_unique<Peer>(link, plan_.region_bytes));
  return link;
}

void ServerHost::WakeAt(int64_t time) {
  if (time >= next_turn_) return;
  next_turn_ = time;
  world_.At(time, [this, ticket = ++turn_ticket_] {
    if (ticket != turn_ticket_) return;
    next_turn_ = kNever;
    if (world_.now() < stalled_until_) {
      WakeAt(stalled_until_);
    } else {
      Turn();
    }
  });
}

// As Server::Run does between two waits.
void ServerHost::Turn() {
  core_->SetTick(1 + static_cast<uint64_t>((NowNanos() - started_) / kMillisecond));
  ReadLanes();
  const bool more = core_->Background();
  DUNLIN_CHECK(core_->fault().ok());
  DrivePatrol();
  for (const OverdueSession& overdue : core_->TakeOverdue()) EndByForce(overdue.id);
  Resume();
  if (auto recovered = core_->TakeRecovered(); recovered.has_value()) {
    counts_.blocks_recovered += recovered->blocks;
  }
  const int64_t wait = more                        ? kWorkNanos
                       : core_->in_demand()        ? kMillisecond
                       : core_->OpenSessions() > 0 ? int64_t{kTickPeriod} * kMillisecond
                                                   : kIdle;
  WakeAt(world_.now() + wait);
}

void ServerHost::DrivePatrol() {
  const double share = core_->patrol().urgent() ? kUrgentShare : kShare;
  const int64_t begin = NowNanos();
  for (int64_t now = begin; now - begin < kPatrolTurn && pacer_->May(now, share);) {
    const bool more = core_->StepPatrol();
    const auto took = static_cast<int64_t>(world_.random().Below(kPatrolPiece));
    pacer_->Spent(took);
    now += took;
    if (!more) break;
  }
}

void ServerHost::EndByForce(uint32_t session) {
  auto open = std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& each) {
    return each.second.connection->peer().session == session;
  });
  if (open == lanes_.end()) return;
  ++counts_.ended_by_force;
  Close(open->first);
}

void ServerHost::CountWork() {
  control::StatusReply status;
  core_->FillStatus(status);
  counts_.locks_released += status.locks_released();
  counts_.swept += status.swept_blocks();
  counts_.relocated += status.relocated();
  counts_.expired += status.expired();
  counts_.splits += status.splits();
  counts_.evicted += status.evicted();
}

void ServerHost::ReadLanes() {
  std::vector<uint64_t> ids;
  for (const auto& [id, lane] : lanes_) ids.push_back(id);
  for (const uint64_t id : ids) {
    auto found = lanes_.find(id);
    if (found == lanes_.end() || !found->second.connection->WantsRead()) continue;
    Link& link = *found->second.link;
    if (link.server_inbox().empty() && !link.client_hung_up()) continue;
    Settle(id, found->second.connection->Read(*core_));
  }
}

void ServerHost::Settle(uint64_t id, LaneConnection::Progress progress) {
  CloseReplaced();
  auto found = lanes_.find(id);
  if (found == lanes_.end()) return;
  LaneConnection& connection = *found->second.connection;
  const LaneConnection::Progress sent = connection.Write();
  if (progress == LaneConnection::Progress::kOpen) progress = sent;
  // The clients here keep to the protocol.
  DUNLIN_CHECK(progress != LaneConnection::Progress::kBroken);
  if (progress != LaneConnection::Progress::kOpen) return Close(id);
  if (!found->second.link->server_inbox().empty()) WakeAt(world_.now() + kTurnNanos);
}

void ServerHost::Close(uint64_t id) {
  auto found = lanes_.find(id);
  const uint32_t session = found->second.connection->peer().session;
  if (session != 0) {
    core_->LoseSession(session);
    ++counts_.sessions_lost;
  }
  lanes_.erase(found);
  if (session != 0) core_->FenceSession(session);
}

void ServerHost::CloseReplaced() {
  for (const uint32_t session : core_->TakeReplaced()) {
    auto open = std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& each) {
      return each.second.connection->peer().session == session;
    });
    if (open != lanes_.end()) Close(open->first);
  }
}

void ServerHost::Resume() {
  std::vector<uint64_t> waiting;
  for (const auto& [id, lane] : lanes_) {
    if (lane.connection->waiting()) waiting.push_back(id);
  }
  for (const uint64_t id : waiting) {
    auto found = lanes_.find(id);
    if (found == lanes_.end()) continue;
    Settle(id, found->second.connection->Resume(*core_));
  }
}

}  // namespace dunlin::simulator
