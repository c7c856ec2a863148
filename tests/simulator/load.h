#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/connect/opener.h"
#include "client/connect/server_health.h"
#include "dunlin/session.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/history.h"
#include "tests/simulator/process.h"

namespace dunlin::simulator {

// Keys behind those of Faults::keys, which hold integers.
inline constexpr uint32_t kIntegerKeys = 2;

// Connects a process to the server, or says why it can't.
using Connect =
    std::function<absl::StatusOr<std::unique_ptr<RemoteConnection>>(Process*, Deadline)>;

// What all clients of a run share.
struct LoadShared {
  World* world = nullptr;
  const Faults* faults = nullptr;
  History* history = nullptr;
  Connect connect;
  uint64_t operations_left = 0;
  uint64_t next_value = 1;
  std::map<uint32_t, uint64_t> last_versions;  // of a key, as some client last saw it
  std::map<std::string, uint32_t> key_numbers;
  uint64_t reconnects = 0;
  uint64_t resolved = 0;
  uint64_t absorbed = 0;
};

// One client: opens sessions of the shipping client and calls at random. Runs in the fiber of its
// process.
class Load {
 public:
  Load(LoadShared* shared, Process* process);

  // Until the run's operations are used up or the process has died.
  void Run();
  // Every key once, with a session of its own; for the end of a run.
  void ReadAll();

  const std::shared_ptr<ServerHealth>& health() const { return health_; }

 private:
  struct Item;

  bool Open();
  void Close();
  void OneCall();
  uint64_t Phase() const;
  uint32_t SomeKey();
  std::string SomeValue(uint32_t key);
  std::optional<Milliseconds> SomeTtl();
  uint64_t SomeVersion(uint32_t key);
  Operation Invoke(Kind kind);
  // Notes the answer, unless the process has died meanwhile.
  void Answered(size_t call, const GetResult& result, const std::string* value);
  void Answered(size_t call, const WriteResult& result);
  void Finish(size_t call, Outcome outcome, uint64_t version);

  void CallGet(uint32_t key);
  void CallGetInto(uint32_t key);
  void CallHead(uint32_t key);
  void CallPut(uint32_t key, PutMode mode);
  void CallRemove(uint32_t key);
  void CallCompareAndSet(uint32_t key);
  void CallAdd(uint32_t key);
  void CallTouch(uint32_t key);
  Item SomeItem(Kind kind);
  void Begin(Item* item);
  void Got(Item* item, const GetResult& result);
  void CallMany();
  void CallSubmit();
  void CallScan();
  void CallInteger();

  LoadShared& shared_;
  World& world_;
  const Faults& faults_;
  Process& process_;
  std::shared_ptr<ForkGuard> guard_;
  std::shared_ptr<Opener> opener_;
  const std::shared_ptr<ServerHealth> health_ = std::make_shared<ServerHealth>();
  std::unique_ptr<Session> session_;
};

}  // namespace dunlin::simulator
