#include "dunlin/known_key.h"

#include <cstring>

#include "client/session/session_impl.h"

namespace dunlin {

KnownKey::KnownKey(Bytes key) {
  if (key.size() > kInside) {
    outside_.assign(key.begin(), key.end());
  } else if (!key.empty()) {
    inside_bytes_ = static_cast<uint32_t>(key.size());
    std::memcpy(inside_, key.data(), key.size());
  }
}

// What was learned over another connection is dropped.
Key SessionImpl::KeyOf(KnownKey& known) const {
  const Bytes bytes = known.bytes();
  KnownKey::Where& where = known.where_;
  if (!IsOurs(where)) {
    where = {};
    where.incarnation = link_->constants.incarnation;
    where.session = env_.session;
    where.hash = HashKey(bytes, geometry_.hash_seed);
  }
  return {bytes.data(), static_cast<uint32_t>(bytes.size()), where.hash};
}

// Before anything else is done: whether the place may be believed doesn't matter to a prefetch.
void SessionImpl::PrefetchLearned(const KnownKey& known) const {
  const KnownKey::Where& where = known.where_;
  if (mapping_ == nullptr || where.word == 0) return;
  PrefetchKnown(PlaceOf(where));
}

void SessionImpl::PrefetchSlot(const KnownKey& known) const {
  if (mapping_ != nullptr) PrefetchLineToWrite(mapping_ + known.where_.slot_address);
}

// REQUIRES: KeyOf(known) was asked for since the call began.
Location SessionImpl::LocationOf(const KnownKey& known, bool* aging) const {
  return IsLearned(known.where_, aging) ? PlaceOf(known.where_) : Location{};
}

void SessionImpl::Learn(KnownKey& known, const Location& location, uint64_t stamp) {
  KnownKey::Where& where = known.where_;
  where.slot_address = location.slot_address;
  where.word = location.word.Thawed().raw();
  where.version = location.version;
  where.expiry = location.expiry;
  where.validated = stamp;
}

// After a call that went the ordinary way and left what it found in the location cache.
void SessionImpl::LearnFromCache(KnownKey& known) {
  if (mapping_ == nullptr) return;
  const Key key = KeyOf(known);
  bool aging = false;
  LocationCache::Place place;
  const Location location = cache_.Find(key, env_.now, &aging, &place);
  if (location.known()) Learn(known, location, place.validated());
}

bool SessionImpl::GetByKnown(KnownKey& known, std::span<std::byte> buffer, GetResult* result) {
  const Key key = KeyOf(known);
  bool aging = false;
  const Location hint = LocationOf(known, &aging);
  Location found;
  if (!GetAt(hint, key, buffer, result, &found)) return false;
  if (!hint.known() || aging) Learn(known, found, env_.now);
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
  const Key key = KeyOf(known);
  bool aging = false;
  const Location hint = LocationOf(known, &aging);
  if (!hint.known()) return false;
  Location found;
  switch (PutAt(hint, key, value, expiry, result, &found, lost)) {
    case PutEnd::kDone:
      Learn(known, found, env_.now);
      return true;
    case PutEnd::kNotTried:
      // For the ordinary call, which knows no other place to look for it.
      cache_.Remember(key, hint, known.where_.validated);
      return false;
    case PutEnd::kStale:
      return false;
  }
  return false;
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
    result = PutByMachine(known.bytes(), value, options, lost);
  } else {
    result = PutBytes(known.bytes(), value, options);
  }
  if (result.ok()) LearnFromCache(known);
  return result;
}

}  // namespace dunlin
