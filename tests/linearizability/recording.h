#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/linearizability/history.h"

namespace dunlin::testing {

// The history of one client process, in a file that it maps: what it asked is there before it asks,
// what it was told as soon as it knows. Survives kill -9, since the pages are the kernel's.

struct Entry {
  enum State : uint32_t { kEmpty, kInvoked, kAnswered };
  uint32_t state = kEmpty;  // written last
  uint32_t key = 0;
  uint32_t waited = 0;      // for a lock, or for a record that was being moved
  int64_t unscheduled = 0;  // if it waited: nanoseconds that its thread waited for a processor
  linearizability::Operation operation;
};

// How a call came by its answer: as in Entry.
struct Wait {
  bool waited = false;
  int64_t unscheduled = 0;
};

struct RecordingHeader {
  uint64_t capacity = 0;   // entries
  uint32_t stop = 0;       // set by who reads: end in good order
  uint32_t finished = 0;   // set by the client at its orderly end
  uint64_t forbidden = 0;  // answers that no client may ever get ("data loss" ...)
  uint64_t errors = 0;     // others that say nothing was changed
  uint64_t unknown = 0;    // answers
  // By how much its sessions may have misjudged the server's clock, at most; nanoseconds.
  int64_t clock_error = 0;
  char message[256] = {};  // about the first forbidden one
};

class Recording {
 public:
  // Makes the file, or maps an existing one if `capacity` is 0.
  static absl::StatusOr<std::unique_ptr<Recording>> Open(const std::string& file,
                                                         uint64_t capacity);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  RecordingHeader& header() { return *header_; }
  uint64_t room() const { return header_->capacity - next_; }

  // The client's side. Begin() fills in the time and returns the number of the entry.
  uint64_t Begin(uint32_t key, const linearizability::Operation& operation);
  void End(uint64_t entry, const linearizability::Operation& operation, const Wait& wait = {});

  // All there are, in the order in which they were invoked.
  std::span<const Entry> entries() const;
  // Of what was invoked and not answered: answer kUnknown, responded kNever.
  void AppendTo(std::map<uint32_t, std::vector<linearizability::Operation>>* by_key) const;

 private:
  Recording() = default;
  RecordingHeader* header_ = nullptr;
  Entry* entries_ = nullptr;
  size_t mapped_ = 0;
  uint64_t next_ = 0;
};

}  // namespace dunlin::testing
