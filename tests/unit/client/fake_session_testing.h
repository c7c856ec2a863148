#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dunlin/session.h"

namespace dunlin {

// A session that notes what it is asked and answers what it is told to.
class FakeSession final : public Session, private PinnedValue::Owner {
 public:
  // What was asked last.
  std::string call, key, value;
  CallOptions call_options;
  PutOptions put_options;
  uint64_t version = 0;
  int64_t delta = 0;
  std::optional<int64_t> initial;
  std::optional<Milliseconds> ttl;
  ScanOptions scan_options;
  uint64_t cursor = 0;
  int unpinned = 0, drained = 0, forgotten = 0;

  // What to answer.
  GetResult get_answer{Outcome::kOk, 5, 42, Milliseconds(7)};
  WriteResult write_answer{Outcome::kOk, 43, 44};
  std::string stored = "value";
  bool throws = false;
  bool full = false;
  absl::StatusOr<ScanPage> page = ScanPage{};
  Stats counters;

  GetResult GetInto(Bytes k, std::span<std::byte> buffer, const CallOptions& o) override {
    Note("get", k, o);
    return Fill(buffer);
  }
  GetResult GetString(Bytes k, std::string* to, const CallOptions& o) override {
    Note("get string", k, o);
    *to = stored;
    return get_answer;
  }
  GetResult Head(Bytes k, const CallOptions& o) override {
    Note("head", k, o);
    return get_answer;
  }
  GetResult GetPinned(Bytes k, PinnedValue* to, const CallOptions& o) override {
    Note("pin", k, o);
    if (get_answer.ok()) *to = PinnedValue(this, AsBytes(stored), 42, std::nullopt);
    return get_answer;
  }
  WriteResult PutBytes(Bytes k, Bytes v, const PutOptions& o) override {
    NotePut("put", k, v, o);
    return write_answer;
  }
  WriteResult RemoveBytes(Bytes k, const CallOptions& o) override {
    Note("remove", k, o);
    return write_answer;
  }
  WriteResult CompareAndSet(Bytes k, uint64_t expected, Bytes v, const PutOptions& o) override {
    NotePut("compare and set", k, v, o);
    version = expected;
    return write_answer;
  }
  WriteResult Add(Bytes k, int64_t d, const AddOptions& o) override {
    Note("add", k, o);
    delta = d;
    initial = o.initial;
    return write_answer;
  }
  WriteResult Touch(Bytes k, std::optional<Milliseconds> t, const CallOptions& o) override {
    Note("touch", k, o);
    ttl = t;
    return write_answer;
  }
  void MultiGet(std::span<GetRequest> requests, const CallOptions& o) override {
    for (GetRequest& request : requests) {
      Note("multi get", request.key, o);
      request.result = Fill(request.buffer);
      if (key == "absent") request.result.outcome = Outcome::kNotFound;
    }
  }
  void MultiPut(std::span<PutRequest> requests, const CallOptions& o) override {
    for (PutRequest& request : requests) {
      NotePut("multi put", request.key, request.value, request.options);
      call_options = o;
      request.result = write_answer;
    }
  }
  void MultiRemove(std::span<RemoveRequest> requests, const CallOptions& o) override {
    for (RemoveRequest& request : requests) {
      Note("multi remove", request.key, o);
      request.result = write_answer;
    }
  }
  bool SubmitGet(Bytes k, std::span<std::byte> buffer, GetCallback done,
                 const CallOptions& o) override {
    Note("submit get", k, o);
    if (full) return false;
    pending_.push_back([this, buffer, done = std::move(done)] { done(Fill(buffer)); });
    return true;
  }
  bool SubmitPut(Bytes k, Bytes v, WriteCallback done, const PutOptions& o) override {
    NotePut("submit put", k, v, o);
    return SubmitWrite(std::move(done));
  }
  bool SubmitRemove(Bytes k, WriteCallback done, const CallOptions& o) override {
    Note("submit remove", k, o);
    return SubmitWrite(std::move(done));
  }
  uint32_t Poll() override {
    const auto all = std::exchange(pending_, {});
    for (const auto& one : all) one();
    return static_cast<uint32_t>(all.size());
  }
  uint32_t in_flight() const override { return static_cast<uint32_t>(pending_.size()); }
  void Drain() override {
    ++drained;
    Poll();
  }
  absl::StatusOr<ScanPage> Scan(uint64_t from, const ScanOptions& o) override {
    call = "scan";
    cursor = from;
    scan_options = o;
    prefix_ = std::string(o.prefix);
    scan_options.prefix = prefix_;
    return page;
  }
  Stats stats() const override { return counters; }
  absl::Status connection() const override { return absl::OkStatus(); }
  void ForgetLocations() override { ++forgotten; }
  uint32_t max_key_bytes() const override { return 100; }
  uint64_t max_value_bytes() const override { return 200; }

 private:
  static std::string Text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <typename Options>
  void Note(std::string what, Bytes k, const Options& o) {
    call = std::move(what);
    key = Text(k);
    call_options.deadline = o.deadline;
    if (throws) throw std::bad_alloc();
  }
  void NotePut(std::string what, Bytes k, Bytes v, const PutOptions& o) {
    value = Text(v);
    put_options = o;
    Note(std::move(what), k, o);
  }
  GetResult Fill(std::span<std::byte> buffer) {
    if (buffer.size() >= stored.size()) std::memcpy(buffer.data(), stored.data(), stored.size());
    return get_answer;
  }
  bool SubmitWrite(WriteCallback done) {
    if (full) return false;
    pending_.push_back([this, done = std::move(done)] { done(write_answer); });
    return true;
  }
  void Unpin() override { ++unpinned; }

  std::vector<std::function<void()>> pending_;
  std::string prefix_;
};

}  // namespace dunlin
