#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "common/memory/batch_book.h"

namespace dunlin {

// One session as its server sees it.
struct SessionEntry {
  enum class State {
    kOpen,
    // Its connection has gone, its process has not: it may still be in the midst of a chain on its
    // mapping. Its blocks, its locks and its hold-back of reuse stay.
    kLost,
    // Fenced. Waits until it is known which of its blocks are linked.
    kFenced,
  };
  uint32_t id = 0;
  uint32_t word = 0;  // index of its word in the session area
  uint32_t pid = 0;
  bool read_only = false;
  uint64_t token = 0;  // who knows it may have the session replaced
  std::string peer;    // "shm", or how the remote one is reached
  State state = State::kOpen;
  bool overdue = false;  // it is being ended by force
  uint64_t opened_tick = 0;
  std::string client_name;
  BatchBook book;
};

// A held lock names its owner, and must not name somebody else later: an id is used again only when
// all others have been, and a whole walk of the index, which releases the locks of the dead, has
// begun and ended since its session was removed. Words are used again at once. Not thread safe.
class SessionRegistry {
 public:
  // `words`: how many sessions at the same time. `last_id`: for tests; the width of a lock's owner.
  explicit SessionRegistry(uint32_t words, uint32_t last_id);
  explicit SessionRegistry(uint32_t words);

  // ResourceExhausted if all words are taken, or all ids have been used. The session belongs to the
  // registry and stays where it is until Remove.
  absl::StatusOr<SessionEntry*> Add();
  SessionEntry* Find(uint32_t id);
  // The first session with that id or a higher one; null if there is none.
  SessionEntry* FindFrom(uint32_t id);
  // Whether a lock of that owner may still be given back by it. Once false for an id, it stays so.
  bool Lives(uint32_t id) const;
  // REQUIRES: it exists.
  void Remove(uint32_t id);
  // So many walks of the index have ended so far.
  void NoteWalks(uint64_t walks);

  const std::map<uint32_t, std::unique_ptr<SessionEntry>>& all() const { return sessions_; }
  uint32_t Count(SessionEntry::State state) const;

 private:
  // The next id that may be used; 0: none may.
  uint32_t TakeId();

  std::map<uint32_t, std::unique_ptr<SessionEntry>> sessions_;
  std::vector<uint32_t> free_words_;
  uint32_t words_;
  uint32_t last_id_;
  uint32_t next_id_ = 1;
  uint64_t walks_ = 0;
  // Removed sessions, oldest first, and how many walks had ended then; as long as it matters.
  struct Removed {
    uint32_t id;
    uint64_t walks;
  };
  std::deque<Removed> removed_;
  std::unordered_set<uint32_t> removed_ids_;
};

}  // namespace dunlin
