#include "common/protocol/in_place.h"

#include "client/session/session_impl.h"
#include "common/base/prefetch.h"

namespace dunlin {

// The record with the slot, not behind it. The word may be stale: any address may be asked for.
void SessionImpl::PrefetchKnown(const Location& hint) const {
  PrefetchLine(mapping_ + hint.slot_address);
  if (!IsSlabClass(hint.word.size_class())) return;
  PrefetchRecord(mapping_ + geometry_.RecordAddress(hint.word), hint.word.size_class());
}

void SessionImpl::PrefetchBuckets(const Placement& place) const {
  for (uint64_t bucket : place.bucket) {
    PrefetchLine(mapping_ + bucket);
    PrefetchLine(mapping_ + bucket + kBucketBytes / 2);
  }
}

// Copies what was found into the caller's buffer; false if the machine must do it.
bool SessionImpl::CopyInPlace(const InPlace& in_place, uint64_t stamp, std::span<std::byte> buffer,
                              GetResult* result) {
  const uint64_t bytes = in_place.view.header.value_bytes();
  if (bytes > buffer.size()) return false;
  CopyBytes(buffer.data(), in_place.value(), bytes);
  const uint64_t now = Tick();
  if (!StillInPlace(geometry_, in_place, stamp, now)) return false;
  result->outcome = Outcome::kOk;
  result->value_bytes = bytes;
  result->version = in_place.view.version;
  if (in_place.view.expiry != 0) {
    result->ttl_left = Milliseconds(in_place.view.expiry > now ? in_place.view.expiry - now : 0);
  }
  return true;
}

void SessionImpl::CountInPlace(bool known) {
  ++stats_.hits;
  ++(known ? stats_.cache_hits : stats_.cache_misses);
  const uint64_t chains = known ? 1 : 2;
  const uint64_t verbs = known ? 2 : 3;
  stats_.chains += chains;
  stats_.verbs += verbs;
  stats_.reads += verbs;
}

bool SessionImpl::GetInPlace(const Key& key, std::span<std::byte> buffer, GetResult* result) {
  const uint64_t stamp = env_.now;
  InPlace in_place;
  bool aging = false;
  cache_.Prefetch(key.hash);
  const Location hint = cache_.Find(key, stamp, &aging);
  if (hint.known()) {
    PrefetchKnown(hint);
    if (!FindKnownInPlace(geometry_, mapping_, hint, key, stamp, &in_place)) return false;
  } else {
    Placement place = Place(geometry_, env_.directory, key.hash);
    PrefetchBuckets(place);
    if (!FindColdInPlace(geometry_, mapping_, place, key, stamp, &in_place)) return false;
  }
  if (!CopyInPlace(in_place, stamp, buffer, result)) return false;
  CountInPlace(hint.known());
  stats_.round_trips += hint.known() ? 1 : 2;
  if (!hint.known() || aging) cache_.Remember(key, in_place.found, stamp);
  return true;
}

bool SessionImpl::PutInPlace(const Key& key, Bytes value, uint64_t expiry, WriteResult* result) {
  bool aging = false;
  cache_.Prefetch(key.hash);
  const Location hint = cache_.Find(key, env_.now, &aging);
  if (!hint.known()) return false;
  PrefetchLine(mapping_ + hint.slot_address);
  const uint64_t bytes = RecordBytes(key.bytes, value.size(), expiry != 0);
  // Before a block is taken, which would have to be given back.
  if (ClassFor(bytes) == kRunClass) return false;
  const BlockPool::Taken taken = pool_.TakeInHand(bytes);
  if (taken.result != Result::kOk) return false;
  ++stats_.chains;
  ++stats_.round_trips;
  stats_.verbs += 2;
  ++stats_.writes;
  ++stats_.atomics;
  Location found;
  if (!PutKnownInPlace(geometry_, link_->region->base(), hint, key, taken.block, value, expiry,
                       &found)) {
    pool_.PutBack(taken.block, taken.batch);
    cache_.Forget(key);
    return false;
  }
  ++stats_.cache_hits;
  pool_.Spent(taken.batch);
  pool_.Unlinked({hint.word, hint.version});
  cache_.Remember(key, found, env_.now);
  result->outcome = Outcome::kOk;
  result->version = taken.block.version;
  return true;
}

// A group goes in passes, each of which asks for the lines that the next one reads: of the location
// cache, then of slots and records, or of buckets.
void SessionImpl::LocateGroup(InPlaceGroup& group) {
  for (size_t i = 0; i < group.count; ++i) {
    InPlaceGroup::Item& item = group.items[i];
    item.hint = cache_.Find(item.key, env_.now, &item.aging);
    if (item.hint.known()) {
      PrefetchKnown(item.hint);
      continue;
    }
    group.any_cold = true;
    item.place = Place(geometry_, env_.directory, item.key.hash);
    PrefetchBuckets(item.place);
  }
}

// Records the requests that are done; the others go the machine's way.
void SessionImpl::FinishGroup(InPlaceGroup& group, std::vector<GetRequest*>* left) {
  const uint64_t stamp = env_.now;
  for (size_t i = 0; i < group.count; ++i) {
    InPlaceGroup::Item& item = group.items[i];
    const bool known = item.hint.known();
    const bool found =
        known ? FindKnownInPlace(geometry_, mapping_, item.hint, item.key, stamp, &item.in_place)
              : FindColdInPlace(geometry_, mapping_, item.place, item.key, stamp, &item.in_place);
    if (!found || !CopyInPlace(item.in_place, stamp, item.request->buffer, &item.request->result)) {
      left->push_back(item.request);
      continue;
    }
    CountInPlace(known);
    if (!known || item.aging) cache_.Remember(item.key, item.in_place.found, stamp);
  }
  stats_.round_trips += group.any_cold ? 2 : 1;
}

void SessionImpl::MultiGetInPlace(std::span<GetRequest> requests, std::vector<GetRequest*>* left) {
  InPlaceGroup& group = *in_place_group_;
  for (size_t next = 0; next < requests.size();) {
    group.count = 0;
    group.any_cold = false;
    const bool admitted = Admit() == Outcome::kOk;
    for (; next < requests.size() && group.count < InPlaceGroup::kMost; ++next) {
      GetRequest& request = requests[next];
      request.result = {};
      if (!admitted || request.key.empty() || request.key.size() > geometry_.max_key_bytes) {
        left->push_back(&request);
        continue;
      }
      InPlaceGroup::Item& item = group.items[group.count++];
      item.request = &request;
      item.key = KeyOf(request.key);
      cache_.Prefetch(item.key.hash);
    }
    if (group.count == 0) continue;
    Hold();
    LocateGroup(group);
    FinishGroup(group, left);
    Unhold();
  }
}

}  // namespace dunlin
