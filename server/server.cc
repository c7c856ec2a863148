#include "server/server.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/region_plan.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace dunlin {
namespace {

constexpr int64_t kNanosPerTick = 1'000'000;
constexpr int kIdlePeriod = 100;              // ms between wake-ups without a session
constexpr uint64_t kStallLimit = 10'000;      // ms without taking a byte of waiting replies
constexpr uint64_t kNoSessionLimit = 60'000;  // ms that a remote peer may stay without a session
constexpr size_t kSpareConnections = 64;      // beyond max-sessions, for kvctl status and the like
constexpr uint64_t kProbePeriod = 1000;
constexpr int kMostEvents = 64;
constexpr int64_t kBackgroundTurn = 500'000;  // ns in one turn of the loop, about
constexpr double kUrgentShare = 0.5;
constexpr int kMostAccepts = 16;
constexpr uint64_t kAcceptPause = 1000;

absl::Status Errno(const std::string& what) { return absl::ErrnoToStatus(errno, ToAbsl(what)); }

// Readable when the peer's process has gone. SO_PEERPIDFD (Linux 6.5) is exact; before that a
// process that died at once and whose number was taken over is mistaken for the newcomer, and then
// merely fenced later.
UniqueFd PeerProcess(int socket, uint32_t pid) {
  int fd = -1;
  socklen_t length = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0) return UniqueFd(fd);
  if (pid == 0) return UniqueFd();
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u)));
}

uint32_t PeerPid(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return 0;
  return static_cast<uint32_t>(credentials.pid);
}

}  // namespace

Server::Server(const ServerOptions& options, std::unique_ptr<Listener> listener,
               std::unique_ptr<Region> region, Network network, const Clock* clock, Logger* logger,
               std::string release)
    : options_(options),
      listener_(std::move(listener)),
      region_(std::move(region)),
      network_(std::move(network)),
      clock_(clock),
      log_(*logger),
      peer_log_(*logger, 10, 1000),
      core_(region_->base(), region_->plan(), CoreConfig(std::move(release))),
      start_nanos_(clock->NowNanos()),
      pacer_(start_nanos_),
      snapshot_pacer_(start_nanos_) {}

ServerCore::Config Server::CoreConfig(std::string release) const {
  ServerCore::Config config;
  config.release = std::move(release);
  config.pid = static_cast<uint32_t>(getpid());
  config.huge_pages = region_->huge_pages();
  config.numa = region_->numa();
  config.first_version = static_cast<uint64_t>(clock_->WallNanos());
  if (getrandom(&config.token_seed, sizeof config.token_seed, 0) != sizeof config.token_seed) {
    config.token_seed = region_->plan().hash_seed;  // drawn from the same source at the start
  }
  config.atomics = network_.atomics.get();
  config.cache = options_.memory_mode() == Mode::kCache;
  config.patrol_period = static_cast<uint64_t>(options_.patrol_period / kNanosPerTick);
  config.lock_patience = static_cast<uint64_t>(options_.lock_patience / kNanosPerTick);
  config.hold_patience = static_cast<uint64_t>(options_.hold_patience / kNanosPerTick);
  config.patrol_permille = static_cast<uint32_t>(options_.patrol_percent * 10);
  config.no_shm_because = network_.no_shm_because;
  for (const auto& endpoint : network_.endpoints) config.endpoints.push_back(endpoint->name());
  return config;
}

absl::Status Server::Watch(int fd, Source source, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = Tag(source, id);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return Errno("epoll_ctl");
  return absl::OkStatus();
}

absl::Status Server::Prepare() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return Errno("epoll_create1");
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  signals_.Reset(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return Errno("signalfd");
  DUNLIN_RETURN_IF_ERROR(Watch(signals_.get(), Source::kSignal, 0, EPOLLIN));
  DUNLIN_RETURN_IF_ERROR(Watch(listener_->fd(), Source::kListener, 0, EPOLLIN));
  DUNLIN_RETURN_IF_ERROR(wake_.Open());
  DUNLIN_RETURN_IF_ERROR(Watch(wake_.fd(), Source::kWake, 0, EPOLLIN));
  if (core_.snapshots() != nullptr) {
    DUNLIN_RETURN_IF_ERROR(Watch(core_.snapshots()->fd(), Source::kSnapshots, 0, EPOLLIN));
  }
  return WatchEndpoints();
}

absl::Status Server::WatchEndpoints() {
  for (size_t i = 0; i < network_.endpoints.size(); ++i) {
    DUNLIN_RETURN_IF_ERROR(network_.endpoints[i]->WatchIn(
        epoll_.get(), Tag(Source::kEndpoint, i << Endpoint::kEventBits)));
  }
  return absl::OkStatus();
}

void Server::UpdateTick() {
  core_.SetTick(1 + static_cast<uint64_t>((clock_->NowNanos() - start_nanos_) / kNanosPerTick));
}

void Server::UpdateWall() { core_.SetWall(clock_->WallNanos() / kNanosPerTick); }

absl::Status Server::Run() {
  DUNLIN_RETURN_IF_ERROR(Prepare());
  UpdateTick();
  core_.SetState(ServerState::kServing);
  DUNLIN_RETURN_IF_ERROR(listener_->Listen());
  log_.Info("serving " + FormatRoundedSize(region_->plan().region_bytes) +
            (region_->huge_pages() ? " on huge pages" : " on 4 KiB pages") + " at " +
            listener_->path() + ", index for " + FormatCount(IndexCapacity(region_->plan())) +
            " records at 80 % load");
  for (const auto& endpoint : network_.endpoints) log_.Info("listening at " + endpoint->name());
  std::array<epoll_event, kMostEvents> events;
  bool more = false;
  while (!Finished()) {
    if (!more) wake_.Every(WakePeriod());
    int n = epoll_wait(epoll_.get(), events.data(), kMostEvents, more ? 0 : -1);
    if (n < 0 && errno != EINTR) return Errno("epoll_wait");
    UpdateTick();
    for (int i = 0; i < n; ++i) Dispatch(events[i].data.u64, events[i].events);
    if (!readable_.empty()) ReadRemotes();
    more = core_.Background() || !readable_.empty();
    more = DrivePatrol() || more;
    more = DriveSnapshots() || more;
    EndOverdue();
    LogGrowthFaults();
    if (!core_.fault().ok()) return core_.fault();
    if (waiting_ > 0) ResumeWaiting();
    LogRecovered();
    CloseStalled();
    ProbeRemotes();
    if (accept_again_tick_ != 0 && core_.tick() >= accept_again_tick_) Accept();
  }
  core_.SetState(ServerState::kStopped);
  listener_->Close();
  log_.Info("stopped; " + std::to_string(core_.OpenSessions()) + " sessions were still open");
  return end_;
}

int Server::WakePeriod() const {
  const uint64_t tick = core_.tick();
  const bool snapshots = core_.snapshots() != nullptr && core_.snapshots()->Due(tick);
  if (snapshots || core_.patrol().Due(tick) || core_.in_demand()) return 1;
  return core_.OpenSessions() > 0 ? static_cast<int>(kTickPeriod) : kIdlePeriod;
}

bool Server::Finished() {
  if (!core_.draining()) return false;
  if (stop_now_) {
    // Who is in a hurry is to know what that costs.
    if (core_.snapshots() != nullptr && !LastSnapshotDone()) {
      end_ = absl::AbortedError(
          "told to stop at once, before the last snapshot was made: what was written since the one "
          "before is lost");
    }
    return true;
  }
  if (core_.OpenSessions() != 0 && core_.tick() < drain_deadline_) return false;
  return LastSnapshotDone();
}

bool Server::LastSnapshotDone() {
  SnapshotService* const snapshots = core_.snapshots();
  if (snapshots == nullptr) return true;
  if (last_snapshot_ == 0) last_snapshot_ = snapshots->Request(false);
  const std::optional<absl::StatusOr<SnapshotInfo>> outcome =
      snapshots->TakeOutcome(last_snapshot_);
  if (!outcome) return false;
  if (outcome->ok()) {
    log_.Info("snapshot " + std::to_string((*outcome)->id) + " holds the " +
              FormatCount((*outcome)->counts.records) + " records that there were" +
              (core_.OpenSessions() == 0 ? "" : ", but not what sessions still write"));
  } else {
    end_ = WithContext(outcome->status(), "the last snapshot failed");
  }
  return true;
}

void Server::Dispatch(uint64_t tag, uint32_t events) {
  uint64_t id = tag & ((uint64_t{1} << 56) - 1);
  switch (static_cast<Source>(tag >> 56)) {
    case Source::kListener:
      return Accept();
    case Source::kSignal:
      return OnSignal();
    case Source::kConnection:
      return Serve(id, events);
    case Source::kProcess:
      return ProcessGone(id);
    case Source::kEndpoint:
      return ProgressEndpoint(id, events);
    case Source::kWake:
      return wake_.Take();  // what is due is done in each turn
    case Source::kSnapshots:
      return core_.snapshots()->Attend(core_.tick());
  }
}

void Server::OnSignal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (core_.draining()) {
      stop_now_ = true;
      continue;
    }
    core_.SetState(ServerState::kDraining);
    drain_deadline_ = core_.tick() + static_cast<uint64_t>(options_.drain_timeout / kNanosPerTick);
    log_.Info("told to stop: no new sessions or blocks, waiting for " +
              std::to_string(core_.OpenSessions()) + " open sessions to end");
  }
}

void Server::Accept() {
  accept_again_tick_ = 0;
  for (int i = 0; i < kMostAccepts; ++i) {
    UniqueFd socket(accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      AddConnection(std::move(socket));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      // The connection stays in the backlog and would wake us without end.
      peer_log_.Log(LogLevel::kError, core_.tick(),
                    "cannot accept a connection: " + std::string(strerror(errno)) +
                        "; raise the limit of open files (ulimit -n)");
      accept_again_tick_ = core_.tick() + kAcceptPause;
      epoll_event event{};
      event.data.u64 = Tag(Source::kListener, 0);
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_->fd(), &event);
      return;
    }
    break;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = Tag(Source::kListener, 0);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_->fd(), &event);
}

bool Server::RoomForPeer(const std::string& who) {
  const size_t most = static_cast<size_t>(options_.max_sessions) + kSpareConnections;
  if (connections_.size() + lost_.size() < most) return true;
  core_.CountRefusedConnection();
  peer_log_.Log(LogLevel::kWarning, core_.tick(),
                "connection of " + who + " refused: too many connections; raise max-sessions");
  return false;
}

void Server::AddConnection(UniqueFd socket) {
  uint32_t pid = PeerPid(socket.get());
  if (!RoomForPeer("process " + std::to_string(pid))) return;
  uint64_t id = next_id_++;
  int fd = socket.get();
  UniqueFd process = PeerProcess(fd, pid);
  Entry entry{std::make_unique<LaneConnection>(
                  std::move(socket), std::move(process), pid,
                  LaneConnection::Descriptors{region_->fd(), region_->read_only_fd()}),
              EPOLLIN};
  absl::Status status = Watch(fd, Source::kConnection, id, EPOLLIN);
  if (status.ok() && entry.lane->process_fd() >= 0) {
    status = Watch(entry.lane->process_fd(), Source::kProcess, id, EPOLLIN);
  }
  if (!status.ok()) {
    peer_log_.Log(LogLevel::kError, core_.tick(), "connection dropped: " + status.ToString());
    return;
  }
  connections_.emplace(id, std::move(entry));
}

void Server::Serve(uint64_t id, uint32_t events) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;  // closed earlier in this turn
  LaneConnection& lane = *found->second.lane;
  bool waited = lane.waiting();
  LaneConnection::Progress progress = LaneConnection::Progress::kOpen;
  if ((events & EPOLLOUT) != 0) {
    progress = lane.Write();
    if (progress == LaneConnection::Progress::kOpen && !waited) progress = lane.Resume(core_);
  }
  if (progress == LaneConnection::Progress::kOpen &&
      (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !waited) {
    progress = lane.Read(core_);
  }
  waiting_ += lane.waiting() - waited;
  Settle(id, progress);
}

void Server::Settle(uint64_t id, LaneConnection::Progress progress) {
  // A new session's welcome says that the one it replaces is fenced.
  CloseReplaced();
  auto found = connections_.find(id);
  if (found == connections_.end()) return;  // it replaced itself
  Entry& entry = found->second;
  LaneConnection& lane = *entry.lane;
  if (std::string note = lane.TakeNote(); !note.empty()) {
    peer_log_.Log(LogLevel::kWarning, core_.tick(), lane.peer().Name() + ": " + note);
  }
  // What was answered goes out also to a peer that has closed its sending side.
  LaneConnection::Progress sent = lane.Write();
  if (progress == LaneConnection::Progress::kOpen) progress = sent;
  if (progress != LaneConnection::Progress::kOpen) {
    CloseConnection(id, progress == LaneConnection::Progress::kBroken ? lane.why() : "");
    return;
  }
  uint32_t events = (lane.WantsRead() ? EPOLLIN : 0u) | (lane.WantsWrite() ? EPOLLOUT : 0u);
  if (lane.remote()) return QueueRead(id, entry);
  if (events == entry.events) return;
  entry.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = Tag(Source::kConnection, id);
  DUNLIN_CHECK_EQ(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, lane.fd(), &event), 0);
}

void Server::CloseConnection(uint64_t id, const std::string& why) {
  auto found = connections_.find(id);
  LaneConnection& lane = *found->second.lane;
  const LanePeer& peer = lane.peer();
  if (!why.empty()) {
    core_.CountRefusedConnection();
    peer_log_.Log(LogLevel::kWarning, core_.tick(),
                  "connection of " + peer.Name() + " closed: " + why);
  }
  if (lane.waiting()) --waiting_;
  if (peer.snapshot_request != 0) core_.snapshots()->Forget(peer.snapshot_request);
  const uint32_t session = peer.session;
  const bool remote = lane.remote();
  if (session != 0) {
    peer_log_.Log(
        LogLevel::kWarning, core_.tick(),
        "session " + std::to_string(session) + " of " + peer.Name() + " ended without a goodbye");
    core_.LoseSession(session);
    if (!remote) lost_.emplace(id, Lost{session, lane.ReleaseProcess()});
  }
  connections_.erase(found);
  // With its connection gone a remote one can do nothing any more.
  if (session != 0 && remote) core_.FenceSession(session);
}

std::map<uint64_t, Server::Entry>::iterator Server::FindOpen(uint32_t session) {
  return std::find_if(connections_.begin(), connections_.end(), [session](const auto& each) {
    return each.second.lane->peer().session == session;
  });
}

std::map<uint64_t, Server::Lost>::iterator Server::FindLost(uint32_t session) {
  return std::find_if(lost_.begin(), lost_.end(),
                      [session](const auto& each) { return each.second.session == session; });
}

void Server::CloseReplaced() {
  for (uint32_t session : core_.TakeReplaced()) {
    auto open = FindOpen(session);
    if (open != connections_.end()) CloseConnection(open->first, "");
    // On shared memory the client's word is enough that it does nothing more.
    auto lost = FindLost(session);
    if (lost == lost_.end()) continue;
    core_.FenceSession(session);
    lost_.erase(lost);
  }
}

void Server::ProgressEndpoint(uint64_t id, uint32_t events) {
  accepted_.clear();
  ready_.clear();
  const uint64_t number = id & ((uint64_t{1} << Endpoint::kEventBits) - 1);
  network_.endpoints[id >> Endpoint::kEventBits]->Progress(number, events, accepted_, ready_);
  for (auto& peer : accepted_) AddRemote(std::move(peer));
  for (const Endpoint::Ready& ready : ready_) {
    auto found = connections_.find(ready.tag);
    if (found == connections_.end()) continue;
    found->second.readable |= ready.receive;
    QueueRead(ready.tag, found->second);
    if (ready.send) Serve(ready.tag, EPOLLOUT);
  }
}

void Server::AddRemote(std::unique_ptr<EndpointPeer> peer) {
  if (!RoomForPeer(peer->name())) return;
  const uint64_t id = next_id_++;
  peer->SetTag(id);
  // What came before the tag would be missed otherwise.
  Entry& entry = connections_[id];
  entry.lane = std::make_unique<LaneConnection>(std::move(peer));
  entry.readable = true;
  entry.since = core_.tick();
  QueueRead(id, entry);
}

// One that must not be read now is queued again when it may be.
void Server::QueueRead(uint64_t id, Entry& entry) {
  if (!entry.readable || entry.queued || !entry.lane->WantsRead()) return;
  entry.queued = true;
  readable_.push_back(id);
}

// Each that has something is read once; those that may have more stay for the next turn.
void Server::ReadRemotes() {
  std::vector<uint64_t> turn;
  turn.swap(readable_);
  for (uint64_t id : turn) {
    auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    found->second.queued = false;
    if (!found->second.lane->WantsRead()) continue;
    Serve(id, EPOLLIN);
    found = connections_.find(id);
    if (found == connections_.end()) continue;
    found->second.readable = found->second.lane->more_to_read();
    QueueRead(id, found->second);
  }
}

void Server::ProbeRemotes() {
  if (core_.tick() - last_probe_ < kProbePeriod) return;
  last_probe_ = core_.tick();
  for (const auto& endpoint : network_.endpoints) endpoint->Probe();
}

void Server::ProcessGone(uint64_t id) {
  if (auto found = connections_.find(id); found != connections_.end()) {
    // Its last messages may still be in the socket: blocks that it returned are to be returned.
    LaneConnection& lane = *found->second.lane;
    bool waited = lane.waiting();
    for (int i = 0; i < 64 && !lane.waiting(); ++i) {
      if (lane.Read(core_) != LaneConnection::Progress::kOpen) break;
    }
    waiting_ += lane.waiting() - waited;
    CloseConnection(id, "");
  }
  auto lost = lost_.find(id);
  if (lost == lost_.end()) return;
  core_.FenceSession(lost->second.session);
  lost_.erase(lost);
}

void Server::ResumeWaiting() {
  for (auto next = connections_.begin(); next != connections_.end();) {
    auto here = next++;
    LaneConnection& lane = *here->second.lane;
    if (!lane.waiting()) continue;
    LaneConnection::Progress progress = lane.Resume(core_);
    if (lane.waiting()) continue;
    --waiting_;
    Settle(here->first, progress);
  }
}

void Server::CloseStalled() {
  if (core_.tick() - last_stall_check_ < 1000) return;
  last_stall_check_ = core_.tick();
  for (auto next = connections_.begin(); next != connections_.end();) {
    auto here = next++;
    LaneConnection& lane = *here->second.lane;
    lane.NoteStall(core_.tick());
    if (lane.stalled_since() != 0 && core_.tick() - lane.stalled_since() >= kStallLimit) {
      CloseConnection(here->first, "it reads no replies");
      continue;
    }
    // Room for those who want one: a client that only asks for the status connects again.
    const bool idle = lane.remote() && lane.peer().session == 0 && !lane.waiting();
    if (idle && core_.tick() - here->second.since >= kNoSessionLimit) {
      CloseConnection(here->first, "");
    }
  }
}

void Server::LogGrowthFaults() {
  const Grower::Figures& figures = core_.grower().figures();
  if (figures.faults == growth_faults_) return;
  growth_faults_ = figures.faults;
  log_.Error(figures.last_fault + ": some client wrote what breaks the layout");
}

template <typename Step>
bool Server::Drive(Pacer& pacer, double share, const Step& step) {
  const int64_t begin = clock_->NowNanos();
  bool more = true;
  int64_t now = begin;
  while (more && now - begin < kBackgroundTurn && pacer.May(now, share)) {
    more = step();
    const int64_t after = clock_->NowNanos();
    pacer.Spent(after - now);
    now = after;
  }
  return more && now - begin >= kBackgroundTurn;
}

bool Server::DrivePatrol() {
  double share = static_cast<double>(options_.patrol_percent) / 100;
  if (core_.patrol().urgent()) share = std::max(share, kUrgentShare);
  const bool more = Drive(pacer_, share, [this] { return core_.StepPatrol(); });
  core_.SetPatrolNanos(static_cast<uint64_t>(pacer_.total()));
  return more;
}

absl::Status Server::StartSnapshots(SnapshotStart start) {
  UpdateTick();
  UpdateWall();
  for (const std::string& skipped : start.skipped) log_.Error("not loaded: " + skipped);
  SnapshotService::Options options;
  options.interval = static_cast<uint64_t>(options_.snapshot_interval / kNanosPerTick);
  options.share_permille = static_cast<uint32_t>(options_.snapshot_percent * 10);
  core_.EnableSnapshots(std::make_unique<SnapshotWriter>(std::move(start.store), clock_), options);
  if (start.ignored != 0) {
    core_.snapshots()->KeepAll();
    log_.Warning("starting empty, as start-empty says, over " + std::to_string(start.ignored) +
                 " good snapshots; none of them is deleted by this server");
  }
  if (start.reader == nullptr) {
    log_.Info("snapshots in '" + options_.snapshot_dir + "': none is loaded, starting empty");
    return absl::OkStatus();
  }
  const SnapshotInfo& info = start.reader->info();
  log_.Info("loading snapshot " + std::to_string(info.id) + ": " +
            FormatCount(info.counts.records) + " records");
  const int64_t begin = clock_->NowNanos();
  DUNLIN_RETURN_IF_ERROR(
      core_.LoadSnapshot(*start.reader, !start.newer.empty(), std::move(start.skipped)));
  LogLoaded(start.newer, clock_->NowNanos() - begin);
  return absl::OkStatus();
}

void Server::LogLoaded(const std::vector<uint64_t>& newer, int64_t nanos) {
  const SnapshotService::Base& base = core_.snapshots()->base();
  log_.Info(
      "loaded " + FormatCount(base.loaded_records) + " records in " +
      FormatRoundedDuration(static_cast<double>(nanos)) +
      (base.expired_records == 0 ? "" : "; " + FormatCount(base.expired_records) + " had expired"));
  if (base.cut) {
    log_.Warning(base.skipped.back() +
                 "; raise memory to have them all. No snapshot is deleted by "
                 "this server, so that they can still be had");
  }
  if (newer.empty()) return;
  log_.Warning("snapshots that are newer than the loaded one: " + absl::StrJoin(newer, ", ") +
               "; the next one will be newer than they are, whether or not anything changes");
}

bool Server::DriveSnapshots() {
  if (core_.snapshots() == nullptr) return false;
  // The last one is all that is left to do.
  const double share =
      last_snapshot_ != 0 ? 1.0 : static_cast<double>(options_.snapshot_percent) / 100;
  UpdateWall();
  const bool more = Drive(snapshot_pacer_, share, [this] { return core_.StepSnapshots(); });
  core_.snapshots()->SetNanos(static_cast<uint64_t>(snapshot_pacer_.total()));
  LogSnapshots();
  return more;
}

void Server::LogSnapshots() {
  for (const std::string& news : core_.snapshots()->TakeNews()) log_.Info(news);
  for (const std::string& trouble : core_.snapshots()->TakeTroubles()) log_.Error(trouble);
}

void Server::EndOverdue() {
  for (const OverdueSession& session : core_.TakeOverdue()) EndByForce(session);
}

void Server::EndByForce(const OverdueSession& session) {
  auto open = FindOpen(session.id);
  if (open != connections_.end() && open->second.lane->remote()) {
    CloseConnection(open->first, "session " + std::to_string(session.id) + ": " + session.why);
    return;
  }
  // On shared memory only its death keeps it from writing. That it is dead is seen like any death.
  auto lost = FindLost(session.id);
  int process = -1;
  if (open != connections_.end()) process = open->second.lane->process_fd();
  if (lost != lost_.end()) process = lost->second.process.get();
  const std::string who =
      "process " + std::to_string(session.pid) + " of session " + std::to_string(session.id);
  if (process >= 0 && syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0u) == 0) {
    log_.Warning("killed " + who + ": " + session.why);
  } else {
    log_.Error("cannot kill " + who + " (" + std::string(strerror(process < 0 ? ESRCH : errno)) +
               "), though " + session.why +
               "; run the server as a user who may signal its clients, or end that process");
  }
}

void Server::LogRecovered() {
  std::optional<RecoveryReport> recovered = core_.TakeRecovered();
  if (!recovered) return;
  log_.Info("recovered from " + std::to_string(recovered->sessions) +
            " ended sessions: " + std::to_string(recovered->blocks) + " blocks freed");
}

}  // namespace dunlin
