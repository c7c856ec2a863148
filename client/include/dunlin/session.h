#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dunlin/export.h"
#include "dunlin/known_key.h"
#include "dunlin/types.h"

namespace dunlin {

// A value that lies in the server's memory, pinned: not copied, and not reused while this lives. It
// holds back the reuse of everything the server's clients unlink meanwhile, so keep it shortly.
// Must be destroyed before its session, by the session's thread.
class DUNLIN_EXPORT PinnedValue {
 public:
  class Owner {  // the session's side
   public:
    virtual void Unpin() = 0;

   protected:
    ~Owner() = default;
  };

  PinnedValue() = default;
  PinnedValue(Owner* owner, Bytes value, uint64_t version, std::optional<Milliseconds> ttl_left)
      : owner_(owner), value_(value), version_(version), ttl_left_(ttl_left) {}
  PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }
  PinnedValue& operator=(PinnedValue&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(value_, other.value_);
    std::swap(version_, other.version_);
    std::swap(ttl_left_, other.ttl_left_);
    return *this;
  }
  ~PinnedValue() {
    if (owner_ != nullptr) owner_->Unpin();
  }

  Bytes value() const { return value_; }
  uint64_t version() const { return version_; }
  std::optional<Milliseconds> ttl_left() const { return ttl_left_; }

 private:
  Owner* owner_ = nullptr;
  Bytes value_;
  uint64_t version_ = 0;
  std::optional<Milliseconds> ttl_left_;
};

// One key of a MultiGet: where its value goes, and how it went.
struct GetRequest {
  Bytes key = {};
  std::span<std::byte> buffer = {};  // the value is copied here
  GetResult result = {};
  KnownKey* known = nullptr;  // set: its key is asked for, and the call sets `key` to it
};

struct PutRequest {
  Bytes key = {};
  Bytes value = {};
  PutOptions options = {};  // its deadline is ignored: the call's counts
  WriteResult result = {};
};

struct RemoveRequest {
  Bytes key = {};
  WriteResult result = {};
};

struct ScanOptions {
  std::string_view prefix = {};  // only keys that begin with these bytes; all are looked at
  uint32_t limit = 100;          // stop after a bucket once so many entries are there
  bool values = true;
  std::optional<Milliseconds> deadline = std::nullopt;  // as in CallOptions
};

struct ScanEntry {
  std::string key;
  std::string value;
  uint64_t version = 0;
  std::optional<Milliseconds> ttl_left;
};

struct ScanPage {
  std::vector<ScanEntry> entries;
  uint64_t next = 0;  // cursor to go on with
  bool done = false;  // all was seen
};

// One thread's way to the server. Not thread safe: one thread at a time, and it may be handed over
// between calls. Blocking calls may be mixed with submitted ones.
//
// A session that has lost its connection makes another one in a call, now and then; calls in
// between answer kUnavailable at once, so who tries again should wait a little first.
//
// Costs are in round trips (RTT): on shared memory a few cache misses, over RDMA a few
// microseconds. "Known" means that the location cache has the key. Every call may end in
// kDeadlineExceeded, kUnavailable, kForked, kInternal; those that write also in kPermissionDenied
// and kUnknown.
class DUNLIN_EXPORT Session {
 public:
  virtual ~Session() = default;

  // --- blocking calls, results with messages
  // ------------------------------------------------------ Each is the call of the same name below,
  // with ToStatus of its outcome.
  absl::StatusOr<Entry> Get(std::string_view key, const CallOptions& options = {});
  absl::StatusOr<uint64_t> Put(std::string_view key, std::string_view value,
                               const PutOptions& options = {});
  absl::Status Remove(std::string_view key, const CallOptions& options = {});

  // --- blocking calls
  // ----------------------------------------------------------------------------- Copies the value
  // into `buffer`. RTT: 1 known, 2 cold. kBufferTooSmall says in value_bytes what it takes; nothing
  // is copied then.
  virtual GetResult GetInto(Bytes key, std::span<std::byte> buffer,
                            const CallOptions& options = {}) = 0;
  // The same into a string, which is made as long as the value.
  virtual GetResult GetString(Bytes key, std::string* value, const CallOptions& options = {}) = 0;
  // No copy, no value: version and time to live.
  virtual GetResult Head(Bytes key, const CallOptions& options = {}) = 0;
  // Where the value lies, pinned. Shared memory only (else kInvalidArgument in the outcome).
  virtual GetResult GetPinned(Bytes key, PinnedValue* value, const CallOptions& options = {}) = 0;

  // RTT: 1 known, 3 cold and present, 2 cold and absent; kIfAbsent 1 known, else 2 or 3;
  // kIfPresent 1 known, 3 cold. Errors: kExists, kNotFound, kTooLarge, kMemoryFull, kIndexFull,
  // kContended. The value before an unsuccessful put stays.
  virtual WriteResult PutBytes(Bytes key, Bytes value, const PutOptions& options = {}) = 0;
  // RTT: 1 known, 3 cold. kNotFound if the key is absent.
  virtual WriteResult RemoveBytes(Bytes key, const CallOptions& options = {}) = 0;
  // Puts `value` if the key's version is `version`, as a get or a put returned it. RTT: 1 known (2
  // if the known version differs), 3 cold. kVersionMismatch, kNotFound.
  virtual WriteResult CompareAndSet(Bytes key, uint64_t version, Bytes value,
                                    const PutOptions& options = {}) = 0;
  // Adds to a decimal integer; the sum in the result. Keeps the time to live. RTT: 2 known, 3 cold.
  virtual WriteResult Add(Bytes key, int64_t delta, const AddOptions& options = {}) = 0;
  // Sets the time to live; unset: never expires. The value stays, the version is new. RTT: 2 / 3.
  virtual WriteResult Touch(Bytes key, std::optional<Milliseconds> ttl,
                            const CallOptions& options = {}) = 0;

  // --- keys whose place the application keeps (known_key.h)
  // ------------------------------------------------------------------------------------------
  // GetInto and PutBytes of that key, results and errors included. "Known" is then what `key` knows
  // and not the location cache; only a put that must find the key's place learns it through the
  // cache. Where the server's memory is not mapped these are just the calls named.
  virtual GetResult GetKnown(KnownKey& key, std::span<std::byte> buffer,
                             const CallOptions& options = {});
  virtual WriteResult PutKnown(KnownKey& key, Bytes value, const PutOptions& options = {});

  // --- many keys at once
  // -------------------------------------------------------------------------- All keys' chains go
  // in the same round trips; each request has its own result. Any number.
  virtual void MultiGet(std::span<GetRequest> requests, const CallOptions& options = {}) = 0;
  virtual void MultiPut(std::span<PutRequest> requests, const CallOptions& options = {}) = 0;
  virtual void MultiRemove(std::span<RemoveRequest> requests, const CallOptions& options = {}) = 0;

  // --- submitted calls
  // ---------------------------------------------------------------------------- Start an operation
  // and return at once; its callback runs inside a later Poll, Wait or blocking call of this
  // session. Key, value and buffer belong to the session until then, whatever the deadline. False:
  // max_in_flight operations are under way; Poll first. A callback may submit.
  using GetCallback = std::function<void(const GetResult&)>;
  using WriteCallback = std::function<void(const WriteResult&)>;
  virtual bool SubmitGet(Bytes key, std::span<std::byte> buffer, GetCallback done,
                         const CallOptions& options = {}) = 0;
  virtual bool SubmitPut(Bytes key, Bytes value, WriteCallback done,
                         const PutOptions& options = {}) = 0;
  virtual bool SubmitRemove(Bytes key, WriteCallback done, const CallOptions& options = {}) = 0;
  // Carries submitted operations on; returns how many completed. Doesn't wait, unless a connection
  // was lost in the middle of a write: making another one may take the client's connect_deadline.
  virtual uint32_t Poll() = 0;
  virtual uint32_t in_flight() const = 0;
  // Polls until none is in flight.
  virtual void Drain() = 0;

  // --- scan
  // --------------------------------------------------------------------------------------- A page
  // of the store in no order; cursor 0 starts. A key that is there from the first page to the last
  // is returned at least once; a key that was absent all the while is not. Reads the whole index
  // one-sidedly. Errors: InvalidArgument (cursor), and those of every call.
  virtual absl::StatusOr<ScanPage> Scan(uint64_t cursor, const ScanOptions& options = {}) = 0;

  virtual Stats stats() const = 0;
  // OK while the connection works; else what broke it, or why it could not be made again yet. What
  // a call that ended in kUnavailable can't say in a byte.
  virtual absl::Status connection() const = 0;

  // Forgets all locations: the next operation on each key is cold.
  virtual void ForgetLocations() = 0;

  // The server's limits.
  virtual uint32_t max_key_bytes() const = 0;
  virtual uint64_t max_value_bytes() const = 0;
};

}  // namespace dunlin
