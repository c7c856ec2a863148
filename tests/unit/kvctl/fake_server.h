#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/kvctl/context.h"
#include "common/base/clock.h"
#include "dunlin/client.h"

namespace dunlin::kvctl {

// A server for tests of commands: a map behind the client's interface. Time to live is kept, but
// does not run. Faults are settable per key, or for everything.
class FakeServer {
 public:
  struct Item {
    std::string value;
    uint64_t version = 0;
    std::optional<Milliseconds> ttl;
  };

  std::map<std::string, Item> items;
  std::map<std::string, Outcome> faults;    // of a key, in every call
  std::map<std::string, std::string> lies;  // values that reads return instead
  std::optional<Outcome> fault;             // of every call
  std::vector<size_t> batches;              // sizes of the MultiPuts so far
  std::vector<Milliseconds> sweeps;         // their patience
  uint64_t next_version = 1'764'000'000'000'000'001;
  uint64_t max_value = 1 << 20;
  absl::Status status;  // of Ping, Status and Scan
  ServerStatus server_status;
  RegionLayout layout;
  std::vector<SnapshotSummary> snapshots;    // newest first
  std::vector<Milliseconds> snapshot_waits;  // of CreateSnapshot
  std::string target = "shm:///fake";
};

class FakeSession final : public Session {
 public:
  explicit FakeSession(FakeServer& server) : server_(server) {}

  GetResult GetInto(Bytes key, std::span<std::byte> buffer, const CallOptions&) override {
    std::string value;
    GetResult result = GetString(key, &value, {});
    if (result.ok() && value.size() > buffer.size()) {
      result.outcome = Outcome::kBufferTooSmall;
    } else if (result.ok()) {
      std::copy_n(AsBytes(value).begin(), value.size(), buffer.begin());
    }
    return result;
  }
  GetResult GetString(Bytes key, std::string* value, const CallOptions&) override {
    GetResult result = Head(key, {});
    if (result.ok()) {
      const auto lie = server_.lies.find(Text(key));
      *value = lie != server_.lies.end() ? lie->second : server_.items[Text(key)].value;
      result.value_bytes = value->size();
    }
    return result;
  }
  GetResult Head(Bytes key, const CallOptions&) override {
    GetResult result;
    result.outcome = OutcomeFor(key, true);
    if (result.ok()) {
      const FakeServer::Item& item = server_.items[Text(key)];
      result.value_bytes = item.value.size();
      result.version = item.version;
      result.ttl_left = item.ttl;
    }
    return result;
  }
  GetResult GetPinned(Bytes, PinnedValue*, const CallOptions&) override { return {}; }

  WriteResult PutBytes(Bytes key, Bytes value, const PutOptions& options) override {
    const bool there = server_.items.contains(Text(key));
    Outcome outcome = OutcomeFor(key, false);
    if (outcome == Outcome::kOk && value.size() > server_.max_value) outcome = Outcome::kTooLarge;
    if (outcome == Outcome::kOk && options.mode == PutMode::kIfAbsent && there) {
      outcome = Outcome::kExists;
    }
    if (outcome == Outcome::kOk && options.mode == PutMode::kIfPresent && !there) {
      outcome = Outcome::kNotFound;
    }
    return outcome == Outcome::kOk ? Store(key, Text(value), options.ttl) : Result(outcome);
  }
  WriteResult RemoveBytes(Bytes key, const CallOptions&) override {
    const Outcome outcome = OutcomeFor(key, true);
    if (outcome == Outcome::kOk) server_.items.erase(Text(key));
    return Result(outcome);
  }
  WriteResult CompareAndSet(Bytes key, uint64_t version, Bytes value,
                            const PutOptions& options) override {
    const Outcome outcome = OutcomeFor(key, true);
    if (outcome != Outcome::kOk) return Result(outcome);
    const uint64_t found = server_.items[Text(key)].version;
    if (found == version) return Store(key, Text(value), options.ttl);
    WriteResult result = Result(Outcome::kVersionMismatch);
    result.version = found;
    return result;
  }
  WriteResult Add(Bytes key, int64_t delta, const AddOptions& options) override {
    const bool create = options.initial.has_value() && !server_.items.contains(Text(key));
    const Outcome outcome = OutcomeFor(key, !create);
    if (outcome != Outcome::kOk) return Result(outcome);
    const int64_t old = create ? *options.initial : std::stoll(server_.items[Text(key)].value);
    WriteResult result = Store(key, std::to_string(old + delta), {});
    result.sum = old + delta;
    return result;
  }
  WriteResult Touch(Bytes key, std::optional<Milliseconds> ttl, const CallOptions&) override {
    const Outcome outcome = OutcomeFor(key, true);
    if (outcome != Outcome::kOk) return Result(outcome);
    return Store(key, server_.items[Text(key)].value, ttl);
  }

  void MultiGet(std::span<GetRequest> requests, const CallOptions&) override {
    for (GetRequest& request : requests) request.result = GetInto(request.key, request.buffer, {});
  }
  void MultiPut(std::span<PutRequest> requests, const CallOptions&) override {
    server_.batches.push_back(requests.size());
    for (PutRequest& request : requests) {
      request.result = PutBytes(request.key, request.value, request.options);
    }
  }
  void MultiRemove(std::span<RemoveRequest> requests, const CallOptions&) override {
    for (RemoveRequest& request : requests) request.result = RemoveBytes(request.key, {});
  }

  bool SubmitGet(Bytes, std::span<std::byte>, GetCallback, const CallOptions&) override {
    return false;
  }
  bool SubmitPut(Bytes, Bytes, WriteCallback, const PutOptions&) override { return false; }
  bool SubmitRemove(Bytes, WriteCallback, const CallOptions&) override { return false; }
  uint32_t Poll() override { return 0; }
  uint32_t in_flight() const override { return 0; }
  void Drain() override {}

  // Pages of at most `limit` items looked at; each page but the first repeats the key before it.
  absl::StatusOr<ScanPage> Scan(uint64_t cursor, const ScanOptions& options) override {
    if (!server_.status.ok()) return server_.status;
    ScanPage page;
    auto at = server_.items.begin();
    std::advance(at, cursor > 0 ? cursor - 1 : 0);
    page.next = cursor;
    for (uint32_t i = 0; i <= options.limit && at != server_.items.end(); ++i, ++at) {
      if (!std::string_view(at->first).starts_with(options.prefix)) {
        page.next = std::distance(server_.items.begin(), at) + 1;
        continue;
      }
      page.entries.push_back(
          {at->first, options.values ? at->second.value : "", at->second.version, at->second.ttl});
      page.next = std::distance(server_.items.begin(), at) + 1;
    }
    page.done = at == server_.items.end();
    return page;
  }

  Stats stats() const override { return {}; }
  absl::Status connection() const override { return absl::OkStatus(); }
  void ForgetLocations() override {}
  uint32_t max_key_bytes() const override { return 65'535; }
  uint64_t max_value_bytes() const override { return server_.max_value; }

 private:
  static std::string Text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static WriteResult Result(Outcome outcome) {
    WriteResult result;
    result.outcome = outcome;
    return result;
  }
  Outcome OutcomeFor(Bytes key, bool must_be_there) const {
    if (server_.fault.has_value()) return *server_.fault;
    const auto fault = server_.faults.find(Text(key));
    if (fault != server_.faults.end()) return fault->second;
    if (key.empty()) return Outcome::kInvalidArgument;
    return !must_be_there || server_.items.contains(Text(key)) ? Outcome::kOk : Outcome::kNotFound;
  }
  WriteResult Store(Bytes key, std::string value, std::optional<Milliseconds> ttl) {
    WriteResult result = Result(Outcome::kOk);
    result.version = server_.next_version++;
    server_.items[Text(key)] = {std::move(value), result.version, ttl};
    return result;
  }

  FakeServer& server_;
};

class FakeClient final : public Client {
 public:
  explicit FakeClient(FakeServer& server) : server_(server) {}

  absl::StatusOr<std::unique_ptr<Session>> OpenSession(const SessionOptions&) override {
    return std::make_unique<FakeSession>(server_);
  }
  absl::StatusOr<Pong> Ping() override {
    if (!server_.status.ok()) return server_.status;
    return Pong{"1.2.3", std::chrono::nanoseconds(12'300)};
  }
  absl::StatusOr<ServerStatus> Status(bool count_index) override {
    if (!server_.status.ok()) return server_.status;
    ServerStatus status = server_.server_status;
    status.counted = count_index;
    return status;
  }
  absl::StatusOr<ServerStatus> Sweep(Milliseconds patience) override {
    server_.sweeps.push_back(patience);
    return Status(true);
  }
  absl::StatusOr<SnapshotSummary> CreateSnapshot(Milliseconds patience) override {
    if (!server_.status.ok()) return server_.status;
    server_.snapshot_waits.push_back(patience);
    SnapshotSummary made;
    made.id = server_.snapshots.empty() ? 1 : server_.snapshots.front().id + 1;
    made.records = server_.items.size();
    server_.snapshots.insert(server_.snapshots.begin(), made);
    return made;
  }
  absl::StatusOr<std::vector<SnapshotSummary>> ListSnapshots() override {
    if (!server_.status.ok()) return server_.status;
    return server_.snapshots;
  }
  absl::Status DeleteSnapshot(uint64_t id) override {
    if (!server_.status.ok()) return server_.status;
    const size_t gone =
        std::erase_if(server_.snapshots, [id](const SnapshotSummary& s) { return s.id == id; });
    return gone == 1 ? absl::OkStatus() : absl::NotFoundError("there is no such snapshot");
  }
  RegionLayout Layout() const override { return server_.layout; }
  const std::string& target() const override { return server_.target; }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  FakeServer& server_;
  const std::vector<std::string> passed_over_;
};

// Everything that a command needs, over a FakeServer.
class CommandHarness {
 public:
  explicit CommandHarness(std::string_view input = {}) : in(input) {
    context.client = &client;
    context.session = &session;
    context.clock = &clock;
    context.in = &in;
    context.out = &out;
    context.err = &err;
  }

  FakeServer server;
  FakeClient client{server};
  FakeSession session{server};
  ManualClock clock;
  StringSource in;
  StringSink out;
  StringSink err;
  Context context;
};

}  // namespace dunlin::kvctl
