#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
// Owns a copy of the key; a cache line, and the heap's for a key of over 20 bytes. A copy of a
// KnownKey is as good as the first. Not thread safe: one thread at a time.
class DUNLIN_EXPORT KnownKey {
 public:
  KnownKey() = default;  // the empty key, which every call refuses
  explicit KnownKey(Bytes key);
  KnownKey(const KnownKey& other);
  KnownKey(KnownKey&& other) noexcept { Swap(other); }
  KnownKey& operator=(KnownKey other) noexcept {
    Swap(other);
    return *this;
  }
  ~KnownKey() {
    if (bytes_ > kInside) delete[] Outside();
  }

  Bytes bytes() const { return {bytes_ <= kInside ? inside_ : Outside(), bytes_}; }
  // The next operation is cold.
  void Forget() { where_ = {}; }

 private:
  friend class SessionImpl;
  static constexpr size_t kInside = 20;

  // Where the record is, as the session that `owner` stands for has last seen it.
  struct Where {
    uint64_t owner = 0;  // 0: nobody
    uint64_t slot_address = 0;
    uint64_t word = 0;
    uint64_t version = 0;
    uint64_t validated = 0;
  };

  std::byte* Outside() const {
    std::byte* key;
    std::memcpy(&key, inside_, sizeof key);
    return key;
  }
  void Swap(KnownKey& other) noexcept;

  alignas(64) Where where_;
  uint32_t bytes_ = 0;
  std::byte inside_[kInside] = {};  // or, of a longer key, the pointer to its bytes
};
static_assert(sizeof(KnownKey) == 64);

}  // namespace dunlin
