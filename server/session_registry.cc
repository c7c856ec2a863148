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

absl::StatusOr<ServerSession*> SessionRegistry::Add() {
  if (next_id_ > last_id_) {
    return absl::ResourceExhaustedError("all " + std::to_string(last_id_) +
                                        " session ids have been used; restart the server");
  }
  if (free_words_.empty()) {
    return absl::ResourceExhaustedError(
        "all " + std::to_string(words_) + " sessions are taken (of them " +
        std::to_string(Count(ServerSession::State::kLost)) +
        " by processes that closed their connection without a goodbye and still run); raise "
        "max-sessions");
  }
  auto session = std::make_unique<ServerSession>();
  session->id = next_id_++;
  session->word = free_words_.back();
  free_words_.pop_back();
  return sessions_.emplace(session->id, std::move(session)).first->second.get();
}

ServerSession* SessionRegistry::Find(uint32_t id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionRegistry::Remove(uint32_t id) {
  auto found = sessions_.find(id);
  DUNLIN_CHECK(found != sessions_.end());
  free_words_.push_back(found->second->word);
  sessions_.erase(found);
}

uint32_t SessionRegistry::Count(ServerSession::State state) const {
  uint32_t count = 0;
  for (const auto& [id, session] : sessions_) count += session->state == state;
  return count;
}

}  // namespace dunlin
