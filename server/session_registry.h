#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/memory/batch_book.h"

namespace dunlin {

// One session as its server sees it.
struct ServerSession {
  enum class State {
    kOpen,
    // Its connection has gone, its process has not: it may still be in the midst of a chain on its
    // mapping. Its blocks, its locks and its hold-back of reuse stay.
    kLost,
    // Fenced. Waits for the walk that releases its locks and finds which of its blocks are linked.
    kFenced,
  };
  uint32_t id = 0;
  uint32_t word = 0;  // index of its word in the session area
  uint32_t pid = 0;
  bool read_only = false;
  uint64_t token = 0;  // who knows it may have the session replaced
  std::string peer;    // "shm", or how the remote one is reached
  State state = State::kOpen;
  uint64_t opened_tick = 0;
  std::string client_name;
  BatchBook book;
};

// Ids are handed out once in the life of a server: a held lock names its owner, and must not name
// somebody else later. Words are used again. Not thread safe.
class SessionRegistry {
 public:
  // `words`: how many sessions at the same time. `last_id`: for tests; the width of a lock's owner.
  explicit SessionRegistry(uint32_t words, uint32_t last_id);
  explicit SessionRegistry(uint32_t words);

  // ResourceExhausted if all words are taken, or all ids have been used. The session belongs to the
  // registry and stays where it is until Remove.
  absl::StatusOr<ServerSession*> Add();
  ServerSession* Find(uint32_t id);
  // REQUIRES: it exists.
  void Remove(uint32_t id);

  const std::map<uint32_t, std::unique_ptr<ServerSession>>& all() const { return sessions_; }
  uint32_t Count(ServerSession::State state) const;

 private:
  std::map<uint32_t, std::unique_ptr<ServerSession>> sessions_;
  std::vector<uint32_t> free_words_;
  uint32_t words_;
  uint32_t last_id_;
  uint32_t next_id_ = 1;
};

}  // namespace dunlin
