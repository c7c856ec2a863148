#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dunlin/export.h"
#include "dunlin/types.h"

namespace dunlin {

class SessionImpl;

// A key with the place where it was last found, for an application that has somewhere to keep it,
// beside what it knows of the key. A location cache of millions of keys is memory like any other
// and costs a miss before the record's own; a KnownKey costs none that the application hasn't paid.
//
// Session::GetKnown and PutKnown, and MultiGet with GetRequest::known, learn the place and keep it
// up to date. It is dropped under the rules of a session's location cache: when it has not been
// seen to be current for too long, and when the session has a new connection. With another session
// the place is learned anew. What was put elsewhere meanwhile is found, at the cost of a cold call.
//
// Owns a copy of the key; about 120 bytes, and the heap's for a key of over 24. A copy of a
// KnownKey is as good as the first. Not thread safe: one thread at a time.
class DUNLIN_EXPORT KnownKey {
 public:
  KnownKey() = default;  // the empty key, which every call refuses
  explicit KnownKey(Bytes key);

  Bytes bytes() const { return outside_.empty() ? Bytes(inside_, inside_bytes_) : Bytes(outside_); }
  // The next operation is cold.
  void Forget() { where_ = {}; }

 private:
  friend class SessionImpl;
  static constexpr size_t kInside = 24;

  struct Where {
    uint64_t incarnation = 0;  // of the server, and the session: whose hash and location these are
    uint32_t session = 0;
    uint64_t hash = 0;
    uint64_t slot_address = 0;
    uint64_t word = 0;  // 0: not known
    uint64_t version = 0;
    uint64_t expiry = 0;
    uint64_t validated = 0;
  };

  Where where_;
  uint32_t inside_bytes_ = 0;
  std::byte inside_[kInside] = {};
  std::vector<std::byte> outside_;
};

}  // namespace dunlin
