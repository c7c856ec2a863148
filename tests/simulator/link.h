#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/chain.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/flight.h"
#include "tests/simulator/process.h"
#include "tests/simulator/region.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

// One connection between a client and a server: bytes both ways, in order, and chains on the
// server's region. Each side has an end of it that may be gone before the other knows.
class Link : public std::enable_shared_from_this<Link> {
 public:
  // `region`: where chains take effect until the server's end is closed. `notify`: something has
  // come for the server.
  Link(World* world, const Faults* faults, Process* client, uint64_t number,
       std::shared_ptr<Region> region, std::function<void()> notify);

  // --- the client's end
  void SendToServer(std::string bytes);
  std::string& client_inbox() { return client_inbox_; }
  // Why nothing more can be sent or received; empty while it works.
  const std::string& client_error() const { return client_error_; }
  // `done` runs when the chain comes back, unless the client has taken it back before; one whose
  // rest the server executes comes back with its reply.
  void Post(Chain* chain, std::function<void(Chain*)> done);
  // The client has its chains back, finished or not; what is under way may go on nevertheless.
  std::vector<Chain*> TakeBack();
  // The chains are no longer there.
  void Abandon();
  // Which the server sees some time later.
  void CloseClient();
  // Chains whose rest the server executes, in the order in which it will answer.
  std::deque<Chain*>& awaited() { return awaited_; }

  // --- the server's end
  std::string& server_inbox() { return server_inbox_; }
  bool client_hung_up() const { return client_hung_up_; }
  void SendToClient(std::string bytes);
  // Fences: nothing of the client's takes effect from now on.
  void CloseServer();
  // The server has crashed.
  void CrashServer();

  // --- the network's
  // Nothing passes any more. `silent`: no side is told; it has to find out.
  void Cut(bool silent);
  bool cut() const { return cut_; }
  // The client's process is gone.
  void KillClient();

  uint64_t number() const { return number_; }
  Carrier carrier() const { return faults_.carrier; }
  int64_t Latency();

 private:
  void PostFrames(Chain* chain, uint32_t first);
  void BreakClient(std::string why);
  void DeliverToServer(std::string bytes, int64_t at);
  void TellServer(int64_t delay);
  void DropFlights(bool all);

  World& world_;
  const Faults& faults_;
  Process* const client_;
  const uint64_t number_;
  const std::shared_ptr<Region> region_;
  const std::function<void()> notify_;

  std::string client_inbox_;
  std::string client_error_;
  bool client_open_ = true;
  std::vector<std::shared_ptr<Flight>> flights_;
  std::deque<Chain*> awaited_;
  std::string server_inbox_;
  bool client_hung_up_ = false;
  bool server_open_ = true;
  bool cut_ = false;
  int64_t last_to_server_ = 0;
  int64_t last_to_client_ = 0;
};

}  // namespace dunlin::simulator
