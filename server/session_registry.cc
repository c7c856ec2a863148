#include "server/session_registry.h"

#include "common/base/check.h"
#include "common/layout/bucket.h"

namespace dunlin {

SessionRegistry::SessionRegistry(uint32_t words)
    : SessionRegistry(words, BucketHeader::kMaxOwner) {}

SessionRegistry::SessionRegistry(uint32_t words, uint32_t last_id)
    : words_(words), last_id_(last_id) {
  for (uint32_t w = words; w > 0; --w) free_words_.push_back(w - 1);
}

uint32_t SessionRegistry::TakeId() {
  const uint64_t tries = sessions_.size() + removed_ids_.size() + 1;
  for (uint64_t i = 0; i < tries && i < last_id_; ++i) {
    if (next_id_ > last_id_) next_id_ = 1;
    const uint32_t id = next_id_++;
    if (!sessions_.contains(id) && !removed_ids_.contains(id)) return id;
  }
  return 0;
}

void SessionRegistry::NoteWalks(uint64_t walks) {
  walks_ = walks;
  // The walk under way at the removal may have been past the lock; the next one was not.
  while (!removed_.empty() && removed_.front().walks + 2 <= walks) {
    removed_ids_.erase(removed_.front().id);
    removed_.pop_front();
  }
}

absl::StatusOr<SessionEntry*> SessionRegistry::Add() {
  if (free_words_.empty()) {
    return absl::ResourceExhaustedError(
        "all " + std::to_string(words_) + " sessions are taken (of them " +
        std::to_string(Count(SessionEntry::State::kLost)) +
        " by processes that closed their connection without a goodbye and still run); raise "
        "max-sessions");
  }
  const uint32_t id = TakeId();
  if (id == 0) {
    return absl::ResourceExhaustedError(
        "all " + std::to_string(last_id_) +
        " session ids were used lately; one gets free with the patrol's next walks");
  }
  auto session = std::make_unique<SessionEntry>();
  session->id = id;
  session->word = free_words_.back();
  free_words_.pop_back();
  return sessions_.emplace(session->id, std::move(session)).first->second.get();
}

SessionEntry* SessionRegistry::Find(uint32_t id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

SessionEntry* SessionRegistry::FindFrom(uint32_t id) {
  auto found = sessions_.lower_bound(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

bool SessionRegistry::Lives(uint32_t id) const {
  auto found = sessions_.find(id);
  return found != sessions_.end() && found->second->state != SessionEntry::State::kFenced;
}

void SessionRegistry::Remove(uint32_t id) {
  auto found = sessions_.find(id);
  DUNLIN_CHECK(found != sessions_.end());
  free_words_.push_back(found->second->word);
  removed_.push_back({id, walks_});
  removed_ids_.insert(id);
  sessions_.erase(found);
}

uint32_t SessionRegistry::Count(SessionEntry::State state) const {
  uint32_t count = 0;
  for (const auto& [id, session] : sessions_) count += session->state == state;
  return count;
}

}  // namespace dunlin
