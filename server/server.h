#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/fabric/atomic_agent.h"
#include "common/fabric/endpoint.h"
#include "server/core.h"
#include "server/lane_connection.h"
#include "server/listener.h"
#include "server/log_limiter.h"
#include "server/options.h"
#include "server/patrol/pacer.h"
#include "server/region.h"
#include "server/snapshot/start.h"
#include "server/wake_timer.h"

namespace dunlin {

// The event loop: one thread that carries bytes and the time to a ServerCore. With a session open
// it wakes every kTickPeriod for the tick, otherwise ten times a second.
class Server {
 public:
  // What the server listens on besides its Unix socket, and who changes words for it.
  struct Network {
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::unique_ptr<AtomicAgent> atomics;  // null: this processor
    std::string no_shm_because;            // not empty: no sessions on shared memory
  };
  // All are borrowed and outlive the server, except the parts that are handed over.
  Server(const ServerOptions& options, std::unique_ptr<Listener> listener,
         std::unique_ptr<Region> region, Network network, const Clock* clock, Logger* logger,
         std::string release);

  // Makes snapshots from now on, and loads the one that `start` reads, if any. Before Run.
  // DataLoss: that one is damaged, and this object is of no further use.
  absl::Status StartSnapshots(SnapshotStart start);

  // Serves until SIGTERM or SIGINT (which must be blocked in this process), then drains: no new
  // sessions or blocks, until the last session has ended or the drain timeout is over, and
  // what it then holds is in a snapshot. A second signal ends that at once. Errors are those of the
  // system under the loop, or of that last snapshot.
  absl::Status Run();

 private:
  enum class Source : uint64_t {
    kListener,
    kSignal,
    kConnection,
    kProcess,
    kEndpoint,
    kSnapshots,
    kWake,
  };
  static uint64_t Tag(Source source, uint64_t id) {
    return static_cast<uint64_t>(source) << 56 | id;
  }

  struct Entry {
    std::unique_ptr<LaneConnection> lane;
    uint32_t events = 0;    // that epoll waits for; a socket's
    bool readable = false;  // a remote peer has sent what was not read yet
    bool queued = false;    // in readable_
    uint64_t since = 0;     // tick; a remote peer's
  };
  // A session without a connection, whose process goes on.
  struct Lost {
    uint32_t session = 0;
    UniqueFd process;
  };

  absl::Status Prepare();
  absl::Status Watch(int fd, Source source, uint64_t id, uint32_t events);
  ServerCore::Config CoreConfig(std::string release) const;
  absl::Status WatchEndpoints();
  bool RoomForPeer(const std::string& who);
  void ProgressEndpoint(uint64_t id, uint32_t events);
  void AddRemote(std::unique_ptr<EndpointPeer> peer);
  void QueueRead(uint64_t id, Entry& entry);
  void ReadRemotes();
  void ProbeRemotes();
  void CloseReplaced();
  void UpdateTick();
  // For snapshots alone.
  void UpdateWall();
  void Dispatch(uint64_t tag, uint32_t events);
  void Accept();
  void AddConnection(UniqueFd socket);
  void Serve(uint64_t id, uint32_t events);
  // Sends, adapts the watch, closes if need be.
  void Settle(uint64_t id, LaneConnection::Progress progress);
  void CloseConnection(uint64_t id, const std::string& why);
  void ProcessGone(uint64_t id);
  void ResumeWaiting();
  void CloseStalled();
  void OnSignal();
  void LogRecovered();
  // The patrol, at its pace. True: it may go on at once.
  bool DrivePatrol();
  // Pieces of background work, as long as `step` says that there is more and the pacer lets it.
  template <typename Step>
  bool Drive(Pacer& pacer, double share, const Step& step);
  // Likewise snapshots.
  bool DriveSnapshots();
  void LogSnapshots();
  void LogLoaded(const std::vector<uint64_t>& newer, int64_t nanos);
  // After the last session: a snapshot of all that is left. Whether it is made, or can't be.
  bool LastSnapshotDone();
  int WakePeriod() const;
  void LogGrowthFaults();
  // The connection of a session, and the process of one that has lost its own.
  std::map<uint64_t, Entry>::iterator FindOpen(uint32_t session);
  std::map<uint64_t, Lost>::iterator FindLost(uint32_t session);
  void EndOverdue();
  void EndByForce(const OverdueSession& session);
  bool Finished();

  const ServerOptions& options_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Region> region_;
  Network network_;
  const Clock* clock_;
  Logger& log_;
  LogLimiter peer_log_;
  ServerCore core_;
  const int64_t start_nanos_;
  Pacer pacer_;
  Pacer snapshot_pacer_;
  uint64_t last_snapshot_ = 0;  // the request for it
  absl::Status end_;            // what Run returns after a drain: why the last snapshot failed
  uint64_t growth_faults_ = 0;  // that were logged

  UniqueFd epoll_;
  WakeTimer wake_;
  UniqueFd signals_;
  std::map<uint64_t, Entry> connections_;
  std::map<uint64_t, Lost> lost_;  // by the id that the connection had
  uint64_t next_id_ = 1;
  size_t waiting_ = 0;              // connections that wait for Background
  std::vector<uint64_t> readable_;  // remote peers to be read in this turn
  std::vector<std::unique_ptr<EndpointPeer>> accepted_;
  std::vector<Endpoint::Ready> ready_;
  uint64_t last_probe_ = 0;
  uint64_t last_stall_check_ = 0;
  uint64_t accept_again_tick_ = 0;  // 0: accepting
  bool stop_now_ = false;
  uint64_t drain_deadline_ = 0;
};

}  // namespace dunlin
