#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core.h"
#include "server/lane_connection.h"
#include "server/patrol/pacer.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/link.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

// A server's machine: the shipping ServerCore and LaneConnection on a region in this process's
// memory, and around them what server/server.cc does with sockets. Crashes and starts again.
class ServerHost {
 public:
  struct Counts {
    uint64_t starts = 0;
    uint64_t crashes = 0;
    uint64_t stalls = 0;
    uint64_t sessions_lost = 0;
    uint64_t ended_by_force = 0;
    uint64_t blocks_recovered = 0;
    uint64_t locks_released = 0;
    uint64_t swept = 0;
    uint64_t relocated = 0;
    uint64_t expired = 0;
    uint64_t splits = 0;
    uint64_t evicted = 0;
  };

  ServerHost(World* world, const Faults* faults) : world_(*world), faults_(*faults) {}
  ~ServerHost();

  void Start();
  void Crash();
  bool up() const { return core_ != nullptr; }
  // It does nothing until then; what clients do one-sidedly goes on.
  void Stall(int64_t until);
  void Jump(int64_t nanos) { jumped_ += nanos; }

  // A connection as it arrives here. REQUIRES: up().
  std::shared_ptr<Link> Accept(Process* client, uint64_t number);

  const ServerCore& core() const { return *core_; }
  ServerCore& core() { return *core_; }
  std::byte* base() const { return region_->base(); }
  const Superblock& plan() const { return plan_; }
  const Counts& counts() const { return counts_; }
  // Adds what the watch over the region has found, and what the server says that it did.
  void TakeFault();
  void CountWork();
  // What was found against a rule while it went on.
  const std::vector<std::string>& faults() const { return faults_found_; }
  // The moments at which everything was lost.
  const std::vector<int64_t>& crash_times() const { return crash_times_; }

 private:
  struct Lane {
    std::shared_ptr<Link> link;
    std::unique_ptr<LaneConnection> connection;
  };

  void WakeAt(int64_t time);
  void Turn();
  void ReadLanes();
  void Settle(uint64_t id, LaneConnection::Progress progress);
  void Close(uint64_t id);
  void DrivePatrol();
  void EndByForce(uint32_t session);
  void CloseReplaced();
  void Resume();
  int64_t NowNanos() const { return world_.now() + jumped_; }

  World& world_;
  const Faults& faults_;
  // Its connections have a share of it: what is late may still be on its way there.
  std::shared_ptr<Region> region_;
  Superblock plan_{};
  std::unique_ptr<ServerCore> core_;
  std::optional<Pacer> pacer_;
  std::map<uint64_t, Lane> lanes_;
  uint64_t next_lane_ = 1;
  int64_t started_ = 0;
  int64_t jumped_ = 0;
  int64_t stalled_until_ = 0;
  int64_t next_turn_ = kNever;
  uint64_t turn_ticket_ = 0;
  Counts counts_;
  std::vector<int64_t> crash_times_;
  std::vector<std::string> faults_found_;
};

}  // namespace dunlin::simulator
