#include "common/protocol/in_place.h"

#include <algorithm>
#include <array>

#include "client/session/session_impl.h"
#include "common/base/prefetch.h"

namespace dunlin {
namespace {

// While one key is finished the lines of so many behind it come: not of all, for a core asks for no
// more than some 16 at a time and would wait with the work undone.
constexpr size_t kAhead = 12;

}  // namespace

// The record with the slot, not behind it. The word may be stale: any address may be asked for.
void SessionImpl::PrefetchKnown(uint64_t slot_address, SlotWord word) const {
  PrefetchLine(mapping_ + slot_address);
  if (!IsSlabClass(word.size_class())) return;
  PrefetchRecord(mapping_ + geometry_.RecordAddress(word), word.size_class());
}

// Of the record that a put is to replace only the head is looked at.
void SessionImpl::PrefetchOld(const Sight& sight, const Key& key) const {
  PrefetchLineToWrite(mapping_ + sight.slot_address);
  PrefetchBytes(mapping_ + geometry_.RecordAddress(sight.block), kRecordPrefixBytes + key.bytes);
}

void SessionImpl::PrefetchBuckets(const Placement& place) const {
  for (uint64_t bucket : place.bucket) {
    PrefetchLine(mapping_ + bucket);
    PrefetchLine(mapping_ + bucket + kBucketBytes / 2);
  }
}

// Copies what was found into the caller's buffer; false if the machine must do it.
[[gnu::always_inline]] inline bool SessionImpl::CopyInPlace(const InPlace& in_place, uint64_t stamp,
                                                            std::span<std::byte> buffer,
                                                            GetResult* result) {
  const uint64_t bytes = in_place.view.header.value_bytes();
  if (bytes > buffer.size()) return false;
  CopyBytes(buffer.data(), in_place.value(), bytes);
  const uint64_t now = Tick();
  if (!StillInPlace(geometry_, in_place, stamp, now)) return false;
  *result = {Outcome::kOk, bytes, in_place.view.version, std::nullopt};
  if (const uint64_t expiry = in_place.view.expiry; expiry != 0) {
    result->ttl_left = Milliseconds(expiry > now ? expiry - now : 0);
  }
  return true;
}

[[gnu::always_inline]] inline bool SessionImpl::HandOut(const InPlace& in_place, uint64_t stamp,
                                                        std::span<std::byte> buffer,
                                                        GetResult* result, Location* found) {
  if (!CopyInPlace(in_place, stamp, buffer, result)) return false;
  *found = in_place.found;
  NoteUse(in_place.found.word);
  return true;
}

void SessionImpl::CountInPlace(uint64_t known, uint64_t cold) {
  stats_.hits += known + cold;
  stats_.cache_hits += known;
  stats_.cache_misses += cold;
  stats_.chains += known + 2 * cold;
  stats_.verbs += 2 * known + 3 * cold;
  stats_.reads += 2 * known + 3 * cold;
}

bool SessionImpl::GetAt(const Location& hint, const Key& key, std::span<std::byte> buffer,
                        GetResult* result, Location* found) {
  const uint64_t stamp = env_.now;
  InPlace in_place;
  if (!FindKnownInPlace(geometry_, mapping_, hint, key, stamp, &in_place) ||
      !HandOut(in_place, stamp, buffer, result, found)) {
    return false;
  }
  CountInPlace(1, 0);
  ++stats_.round_trips;
  return true;
}

bool SessionImpl::GetAnywhere(const Key& key, const Placement& place, std::span<std::byte> buffer,
                              GetResult* result, Location* found) {
  PrefetchBuckets(place);
  const uint64_t stamp = env_.now;
  InPlace in_place;
  if (!FindColdInPlace(geometry_, mapping_, place, key, stamp, &in_place) ||
      !HandOut(in_place, stamp, buffer, result, found)) {
    return false;
  }
  CountInPlace(0, 1);
  stats_.round_trips += 2;
  return true;
}

// In the slot that was in sight; `*known`: with the record that was looked for.
[[gnu::always_inline]] inline bool SessionImpl::GetSeen(const Sight& sight, const Key& key,
                                                        std::span<std::byte> buffer,
                                                        GetResult* result, bool* known) {
  const uint64_t stamp = env_.now;
  InPlace in_place;
  if (!FindSlotInPlace(geometry_, mapping_, sight.slot_address, key, stamp, &in_place) ||
      !CopyInPlace(in_place, stamp, buffer, result)) {
    return false;
  }
  NoteUse(in_place.found.word);
  *known = sight.IsAt(in_place.found.word);
  if (!*known && sight.hint != nullptr) sight.hint->Renew(in_place.found.word);
  return true;
}

bool SessionImpl::GetInPlace(const Key& key, std::span<std::byte> buffer, GetResult* result) {
  const Placement place = Place(geometry_, env_.directory, key.hash);
  const Sight sight = SightOf(key, place);
  bool known = false;
  if (sight.known()) {
    PrefetchKnown(sight.slot_address, sight.block);
    if (GetSeen(sight, key, buffer, result, &known)) {
      CountInPlace(known, !known);
      stats_.round_trips += known ? 1 : 2;
      return true;
    }
  }
  Location found;
  if (!GetAnywhere(key, place, buffer, result, &found)) return false;
  hints_.Remember(key.hash, place, geometry_, found.slot_address, found.word);
  return true;
}

// The block of a later put, so that its CAS needn't wait for its lines.
void SessionImpl::PrefetchBlock(SlotWord word) const {
  if (word.empty() || !InHeap(geometry_, word)) return;
  PrefetchRecord(mapping_ + geometry_.RecordAddress(word), word.size_class());
}

bool SessionImpl::PutAt(const Location& hint, const Key& key, Bytes value, uint64_t expiry,
                        WriteResult* result, Location* found, LostSwing* lost) {
  const auto lose = [&](SlotWord now) {
    *lost = {hint, now, env_.now, link_->constants.incarnation};
    return false;
  };
  const SizeClass size_class = ClassFor(RecordBytes(key.bytes, value.size(), expiry != 0));
  // Before a block is taken, which would have to be given back.
  if (size_class == kRunClass) return lose(SlotWord::Empty());
  const SessionBlocks::Taken taken = pool_.TakeInHand(size_class);
  if (taken.result != Result::kOk) return lose(SlotWord::Empty());
  PrefetchBlock(taken.soon);
  ++stats_.chains;
  stats_.verbs += 2;
  ++stats_.writes;
  ++stats_.atomics;
  pool_.Unlinking({hint.word, hint.version});
  result->outcome = Outcome::kOk;
  result->version = taken.block.version;
  if (!PutKnownInPlace(geometry_, link_->region->base(), hint, key, taken.block, value, expiry,
                       found)) {
    pool_.DidNotUnlink();
    pool_.PutBack(taken.block, taken.batch);
    *result = {};
    return lose(found->word);
  }
  ++stats_.cache_hits;
  pool_.Spent(taken.batch);
  pool_.DidUnlink();
  NoteUse(found->word);
  return true;
}

bool SessionImpl::PutInPlace(const Key& key, Bytes value, uint64_t expiry, WriteResult* result,
                             LostSwing* lost) {
  const Sight sight = SightOf(key, Place(geometry_, env_.directory, key.hash));
  if (!sight.known()) return false;
  PrefetchOld(sight, key);
  const uint64_t chains = stats_.chains;
  const bool done = PutSeen(sight, key, value, expiry, result, lost);
  stats_.round_trips += stats_.chains - chains;
  return done;
}

// Version and key of what is replaced, which a place kept elsewhere has with it, are in the record.
bool SessionImpl::PutSeen(const Sight& sight, const Key& key, Bytes value, uint64_t expiry,
                          WriteResult* result, LostSwing* lost) {
  InPlace old;
  if (!FindSlotInPlace(geometry_, mapping_, sight.slot_address, key, env_.now, &old)) return false;
  Location found;
  if (!PutAt(old.found, key, value, expiry, result, &found, lost)) {
    if (lost->now.empty()) *lost = {};
    return false;
  }
  sight.hint->Renew(found.word);
  return true;
}

void SessionImpl::LocateItem(InPlaceItem& item) {
  const KnownKey* known = item.request->known;
  const Placement place = Place(geometry_, env_.directory, item.key.hash);
  item.aging = false;
  if (known == nullptr) {
    item.sight = SightOf(item.key, place);
  } else {
    item.sight = IsLearned(known->where_, &item.aging) ? SightOf(known->where_) : Sight{};
  }
  if (item.sight.known()) return PrefetchKnown(item.sight.slot_address, item.sight.block);
  PrefetchBuckets(place);
}

// True: the request is answered. `*known`: from where it was looked for.
bool SessionImpl::FinishItem(InPlaceItem& item, bool* known) {
  GetRequest& request = *item.request;
  *known = false;
  if (item.sight.known() && request.known == nullptr &&
      GetSeen(item.sight, item.key, request.buffer, &request.result, known)) {
    return true;
  }
  return FinishUnseen(item, known);
}

bool SessionImpl::FinishUnseen(InPlaceItem& item, bool* known) {
  const uint64_t stamp = env_.now;
  const Placement place = Place(geometry_, env_.directory, item.key.hash);
  GetRequest& request = *item.request;
  InPlace in_place;
  *known =
      item.sight.known() &&
      FindSlotInPlace(geometry_, mapping_, item.sight.slot_address, item.key, stamp, &in_place) &&
      item.sight.IsAt(in_place.found.word);
  if (!*known && !FindColdInPlace(geometry_, mapping_, place, item.key, stamp, &in_place)) {
    return false;
  }
  if (!CopyInPlace(in_place, stamp, request.buffer, &request.result)) return false;
  NoteUse(in_place.found.word);
  if (request.known == nullptr) {
    const Location& found = in_place.found;
    hints_.Remember(item.key.hash, place, geometry_, found.slot_address, found.word);
  } else if (!*known || item.aging) {
    Learn(*request.known, in_place.found, stamp);
  }
  return true;
}

void SessionImpl::RunGroup(std::span<InPlaceItem> group, std::vector<GetRequest*>* left) {
  uint64_t known = 0;
  uint64_t cold = 0;
  bool any_cold = false;
  size_t located = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    for (; located < std::min(i + kAhead, group.size()); ++located) LocateItem(group[located]);
    InPlaceItem& item = group[i];
    bool at_once = false;
    const bool finished = FinishItem(item, &at_once);
    any_cold |= !at_once;
    if (finished) {
      ++(at_once ? known : cold);
      continue;
    }
    if (item.request->known != nullptr) item.request->known->Forget();
    left->push_back(item.request);
  }
  CountInPlace(known, cold);
  stats_.round_trips += any_cold ? 2 : 1;
}

// A request whose KnownKey knows its place.
[[gnu::always_inline]] inline bool SessionImpl::FinishLearned(GetRequest& request, bool aging) {
  KnownKey& known = *request.known;
  request.key = known.bytes();
  const Key key{request.key.data(), static_cast<uint32_t>(request.key.size()), 0};
  const uint64_t stamp = env_.now;
  InPlace in_place;
  if (!FindKnownInPlace(geometry_, mapping_, PlaceOf(known.where_), key, stamp, &in_place) ||
      !CopyInPlace(in_place, stamp, request.buffer, &request.result)) {
    return false;
  }
  NoteUse(SlotWord(known.where_.word));
  if (aging) known.where_.validated = stamp;
  return true;
}

// How many at the front have keys whose places the application keeps.
size_t SessionImpl::CountLearned(std::span<const GetRequest> group, bool* aging) const {
  size_t count = 0;
  for (const GetRequest& request : group) {
    const KnownKey* known = request.known;
    if (known == nullptr || !IsLearned(known->where_, &aging[count])) break;
    if (count < kAhead) PrefetchLearned(*known);
    ++count;
  }
  return count;
}

// Those of CountLearned: nothing is looked up, and nothing has to be remembered from asking for the
// lines to using them. Returns how many there were.
size_t SessionImpl::RunLearned(std::span<GetRequest> group, std::vector<GetRequest*>* left) {
  const size_t left_before = left->size();
  std::array<bool, kInPlaceGroup> aging;
  const size_t count = CountLearned(group, aging.data());
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) PrefetchLearned(*group[i + kAhead].known);
    if (FinishLearned(group[i], aging[i])) continue;
    group[i].known->Forget();
    left->push_back(&group[i]);
  }
  CountInPlace(count - (left->size() - left_before), 0);
  return count;
}

// In groups: the lines of the location cache are asked for first, for all of a group.
void SessionImpl::MultiGetInPlace(std::span<GetRequest> requests, std::vector<GetRequest*>* left) {
  while (!requests.empty()) {
    std::span<GetRequest> group = requests.first(std::min(requests.size(), kInPlaceGroup));
    requests = requests.subspan(group.size());
    const bool admitted = Admit() == Outcome::kOk;
    if (admitted) {
      Hold();
      group = group.subspan(RunLearned(group, left));
      if (group.empty()) ++stats_.round_trips;
      Unhold();
    }
    if (!group.empty()) LookUpGroup(group, admitted, left);
  }
}

// In groups, as gets: what a group's puts wait for comes meanwhile.
void SessionImpl::MultiPutInPlace(std::span<PutRequest> requests, std::vector<PutRequest*>* left) {
  while (!requests.empty()) {
    std::array<PutItem, kInPlaceGroup> items;
    const std::span group = requests.first(std::min(requests.size(), items.size()));
    requests = requests.subspan(group.size());
    const bool admitted = Admit() == Outcome::kOk;
    size_t count = 0;
    for (PutRequest& request : group) {
      const Bytes key = request.key;
      if (!admitted || !PutsInPlace(request.value, request.options) || key.empty() ||
          key.size() > geometry_.max_key_bytes) {
        left->push_back(&request);
        continue;
      }
      items[count] = {&request, KeyOf(key), {}};
      hints_.Prefetch(items[count++].key.hash);
    }
    if (count == 0) continue;
    Hold();
    RunPuts(std::span(items).first(count), left);
    Unhold();
  }
}

void SessionImpl::RunPuts(std::span<PutItem> items, std::vector<PutRequest*>* left) {
  for (PutItem& item : items) {
    item.sight = SightOf(item.key, Place(geometry_, env_.directory, item.key.hash));
    if (item.sight.known()) PrefetchOld(item.sight, item.key);
  }
  const uint64_t chains = stats_.chains;
  for (PutItem& item : items) {
    PutRequest& request = *item.request;
    request.result = {};
    LostSwing lost;
    if (!item.sight.known() || !PutSeen(item.sight, item.key, request.value,
                                        ExpiryOf(request.options.ttl), &request.result, &lost)) {
      left->push_back(&request);
    }
  }
  if (stats_.chains != chains) ++stats_.round_trips;
}

void SessionImpl::LookUpGroup(std::span<GetRequest> group, bool admitted,
                              std::vector<GetRequest*>* left) {
  InPlaceItem* const items = in_place_items_.get();
  size_t count = 0;
  for (GetRequest& request : group) {
    if (request.known != nullptr) request.key = request.known->bytes();
    if (!admitted || request.key.empty() || request.key.size() > geometry_.max_key_bytes) {
      left->push_back(&request);
      continue;
    }
    InPlaceItem& item = items[count++];
    item.request = &request;
    item.key = KeyOf(request.key);
    if (request.known == nullptr) hints_.Prefetch(item.key.hash);
  }
  if (count == 0) return;
  Hold();
  RunGroup({items, count}, left);
  Unhold();
}

}  // namespace dunlin
