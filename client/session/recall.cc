#include "client/session/session_impl.h"

namespace dunlin {

// For one who will Recall the key soon.
void SessionImpl::PrefetchRecalled(const Key& key) const {
  if (mapping_ == nullptr) return;
  const Sight sight = SightOf(key, Place(geometry_, env_.directory, key.hash));
  if (sight.known()) PrefetchKnown(sight.slot_address, sight.block);
}

// A hint is of no use to a machine, which must know version and key of the record that its CAS
// replaces; but they are at hand.
Location SessionImpl::RecallInPlace(const Key& key) {
  const Placement place = Place(geometry_, env_.directory, key.hash);
  const Sight sight = SightOf(key, place);
  if (!sight.known()) return {};
  PrefetchKnown(sight.slot_address, sight.block);
  const uint64_t stamp = env_.now;
  InPlace in_place;
  Hold();
  const bool found =
      FindSlotInPlace(geometry_, mapping_, sight.slot_address, key, stamp, &in_place) &&
      StillInPlace(geometry_, in_place, stamp, Tick());
  Unhold();
  if (!found) return {};
  // A CAS of a frozen word would succeed while its record is being moved.
  in_place.found.word = in_place.found.word.Thawed();
  return in_place.found;
}

Location SessionImpl::Recall(const Key& key, bool* aging) {
  if (mapping_ == nullptr) return cache_.Find(key, env_.now, aging);
  *aging = false;
  return RecallInPlace(key);
}

void SessionImpl::Remember(const Key& key, const Location& location, uint64_t stamp) {
  if (mapping_ == nullptr) return cache_.Remember(key, location, stamp);
  if (!location.known()) return hints_.Forget(key.hash);
  const Placement place = Place(geometry_, env_.directory, key.hash);
  hints_.Remember(key.hash, place, geometry_, location.slot_address, location.word);
}

void SessionImpl::ForgetPlace(const Key& key) {
  mapping_ == nullptr ? cache_.Forget(key) : hints_.Forget(key.hash);
}

}  // namespace dunlin
