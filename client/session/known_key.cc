#include "dunlin/known_key.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/session/session_impl.h"

namespace dunlin {

KnownKey::KnownKey(Bytes key) {
  if (key.empty()) return;
  // Longer than any server takes; what is left of it is refused just so.
  key = key.first(std::min(key.size(), size_t{kMaxKeyBytes} + 1));
  bytes_ = static_cast<uint32_t>(key.size());
  std::byte* to = inside_;
  if (bytes_ > kInside) {
    to = new std::byte[bytes_];
    std::memcpy(inside_, &to, sizeof to);
  }
  std::memcpy(to, key.data(), bytes_);
}

KnownKey::KnownKey(const KnownKey& other) : KnownKey(other.bytes()) { where_ = other.where_; }

void KnownKey::Swap(KnownKey& other) noexcept {
  std::swap(where_, other.where_);
  std::swap(bytes_, other.bytes_);
  std::swap(inside_, other.inside_);
}

// Before anything else is done: whether the place may be believed doesn't matter to a prefetch.
void SessionImpl::PrefetchLearned(const KnownKey& known) const {
  if (mapping_ == nullptr || known.where_.word == 0) return;
  PrefetchKnown(known.where_.slot_address, SlotWord(known.where_.word));
}

void SessionImpl::PrefetchSlot(const KnownKey& known) const {
  if (mapping_ != nullptr) PrefetchLineToWrite(mapping_ + known.where_.slot_address);
}

void SessionImpl::Learn(KnownKey& known, const Location& location, uint64_t stamp) const {
  known.where_ = {owner_, location.slot_address, location.word.Thawed().raw(), location.version,
                  stamp};
}

// After a call that went the ordinary way and left what it found in the location cache.
void SessionImpl::LearnFromCache(KnownKey& known) {
  if (mapping_ == nullptr) return;
  const Location location = RecallInPlace(KeyOf(known.bytes()));
  if (location.known()) Learn(known, location, env_.now);
}

bool SessionImpl::GetUnlearned(const KnownKey& known, std::span<std::byte> buffer,
                               GetResult* result, Location* found) {
  const Key key = KeyOf(known.bytes());
  return GetAnywhere(key, Place(geometry_, env_.directory, key.hash), buffer, result, found);
}

bool SessionImpl::GetByKnown(KnownKey& known, std::span<std::byte> buffer, GetResult* result) {
  bool aging = false;
  const bool learned = IsLearned(known.where_, &aging);
  Location found;
  const bool got = learned
                       ? GetAt(PlaceOf(known.where_), KeyOfLearned(known), buffer, result, &found)
                       : GetUnlearned(known, buffer, result, &found);
  if (!got) return false;
  if (!learned || aging) Learn(known, found, env_.now);
  return true;
}

GetResult SessionImpl::GetKnown(KnownKey& known, std::span<std::byte> buffer,
                                const CallOptions& options) {
  PrefetchLearned(known);
  if (InPlaceAdmitted(known.bytes())) {
    GetResult result;
    Hold();
    const bool done = GetByKnown(known, buffer, &result);
    Unhold();
    if (done) {
      ++stats_.gets;
      return result;
    }
  }
  known.Forget();
  const GetResult result = BlockingGet(known.bytes(), GetMode::kCopy, buffer, nullptr, options);
  if (result.ok()) LearnFromCache(known);
  return result;
}

bool SessionImpl::PutByKnown(KnownKey& known, Bytes value, uint64_t expiry, WriteResult* result,
                             LostSwing* lost) {
  bool aging = false;
  if (!IsLearned(known.where_, &aging)) return false;
  Location found;
  const uint64_t chains = stats_.chains;
  const bool done =
      PutAt(PlaceOf(known.where_), KeyOfLearned(known), value, expiry, result, &found, lost);
  stats_.round_trips += stats_.chains - chains;
  if (done) Learn(known, found, env_.now);
  return done;
}

WriteResult SessionImpl::PutKnown(KnownKey& known, Bytes value, const PutOptions& options) {
  PrefetchSlot(known);
  WriteResult result;
  LostSwing lost;
  if (PutsInPlace(value, options) && InPlaceAdmitted(known.bytes())) {
    Hold();
    const bool done = PutByKnown(known, value, ExpiryOf(options.ttl), &result, &lost);
    Unhold();
    if (done) {
      ++stats_.puts;
      return result;
    }
  }
  known.Forget();
  if (lost.hint.known()) {
    ++stats_.puts;
    if (lost.now.empty()) ++stats_.cache_hits;
    result = PutByMachine(known.bytes(), value, options, lost);
  } else {
    result = PutBytes(known.bytes(), value, options);
  }
  if (result.ok()) LearnFromCache(known);
  return result;
}

}  // namespace dunlin
