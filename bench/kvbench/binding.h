#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/properties.h"

namespace dunlin::kvbench {

enum class Op : uint8_t { kRead, kUpdate, kInsert, kDelete };

// As YCSB names them in its report ("Return=NOT_FOUND").
enum class Return : uint8_t { kOk, kNotFound, kError, kUnknown, kNotImplemented };

// One operation on the store. Key and value belong to the driver and hold until Execute returns.
struct Request {
  Op op = Op::kRead;
  Return returned = Return::kError;
  std::string_view key = {};
  std::string_view value = {};  // what an update or insert stores, whole
  std::string_view found = {};  // what a read found; holds until the session's next Execute
};

// What a session did on its fabric, where the binding can tell. Counted since it was opened.
struct FabricCounts {
  bool known = false;
  uint64_t operations = 0;
  uint64_t round_trips = 0;
  uint64_t verbs = 0;
};

// One thread's way to the store.
class BindingSession {
 public:
  virtual ~BindingSession() = default;

  // Carries out all requests, and sets `returned` and, of reads, `found` in each. More than one are
  // in flight at once where the store can do so (a pipeline, a multi-get); their order is then not
  // defined, and the driver puts no two that depend on each other in one call. An update stores the
  // value whether or not the key was there. A store that is gone is kError in each request, not an
  // end of the session: the next call may find it again. Doesn't allocate once it has warmed up.
  virtual void Execute(std::span<Request> requests) = 0;

  // Why the last request that ended in kError or kUnknown did; empty if none has.
  virtual std::string last_error() const { return {}; }
  virtual FabricCounts fabric() const { return {}; }
};

// What the store's own process takes, where there is one.
struct ServerUse {
  bool known = false;
  uint64_t cpu_nanos = 0;     // user and system, since it began
  uint64_t memory_bytes = 0;  // what the store itself says that its data take; else resident
};

// A store under test. Thread safe.
class Binding {
 public:
  virtual ~Binding() = default;
  virtual absl::StatusOr<std::unique_ptr<BindingSession>> Open() = 0;
  virtual ServerUse Use() { return {}; }
  // Shown in reports: the store's release, and how it is reached ("redis 7.0.15, unix socket").
  virtual std::string Describe() const = 0;
};

// What `-db NAME` may name. `properties` holds the binding's own ("redis.host", "dunlin.target").
struct BindingFactory {
  std::string name;
  std::string summary;  // one line of help: what it is, and which properties it takes
  absl::StatusOr<std::unique_ptr<Binding>> (*make)(const Properties& properties);
};

// Those that this program was built with, in bindings/registry.cc.
std::span<const BindingFactory> Bindings();

}  // namespace dunlin::kvbench
