#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/simulator/faults.h"
#include "tests/simulator/history.h"
#include "tests/simulator/link.h"
#include "tests/simulator/load.h"
#include "tests/simulator/process.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

// All clients of a run, and what befalls them.
class Clients {
 public:
  struct Counts {
    uint64_t kills = 0;
    uint64_t stops = 0;
    uint64_t jumps = 0;
    uint64_t cuts = 0;
    uint64_t connections = 0;
  };
  // The server's end of a new connection; null: nobody is there.
  using Accept = std::function<std::shared_ptr<Link>(Process*, uint64_t number)>;

  Clients(World* world, const Faults* faults, History* history, Accept accept);
  ~Clients();

  void Start();
  // The operations are used up, and every call has come back.
  bool ended() const;
  // One more client reads every key; it has ended when ended() is true again.
  void StartReader();

  // Each befalls one that is drawn.
  void KillOne();
  void StopOne();
  void JumpOne();
  void CutOne();
  void ReportLoss();

  const Counts& counts() const { return counts_; }
  const LoadShared& shared() const { return shared_; }

 private:
  struct Client {
    std::unique_ptr<Process> process;
    std::unique_ptr<Load> load;
    std::vector<std::weak_ptr<Link>> links;
  };

  Client& Some() { return *clients_[world_.random().Below(clients_.size())]; }
  void Launch(size_t slot, bool reader);
  absl::StatusOr<std::unique_ptr<RemoteConnection>> Connect(Process* process, Deadline deadline);
  Client* ClientOf(const Process* process);

  World& world_;
  const Faults& faults_;
  const Accept accept_;
  LoadShared shared_;
  std::vector<std::unique_ptr<Client>> clients_;
  // Processes that have ended: what was to wake them may still come.
  std::vector<std::unique_ptr<Client>> gone_;
  uint32_t next_process_ = 1;
  uint64_t next_link_ = 1;
  uint32_t restarts_pending_ = 0;
  Counts counts_;
};

}  // namespace dunlin::simulator
