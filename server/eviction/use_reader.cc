#include "server/eviction/use_reader.h"

#include "common/layout/access_log.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

constexpr uint32_t kStripsPerLook = 64;  // some 200 us
constexpr uint32_t kAhead = 12;

}  // namespace

void UseReader::Note(const std::byte* strip, Allocator& allocator) const {
  const auto word = [strip](uint32_t i) {
    return SlotWord(LoadWordRelaxed(strip + i * kWordBytes));
  };
  for (uint32_t i = 1; i < kUsesPerStrip; ++i) {
    if (i + kAhead < kUsesPerStrip) allocator.Prefetch(word(i + kAhead));
    allocator.marks().NoteUse(word(i));
  }
}

void UseReader::Begin(uint32_t session_word) {
  if (area_.offset == 0) return;
  seen_[session_word] = 0;
  for (uint32_t i = 0; i < area_.strips; ++i) {
    StoreWord(region_.At(area_.Address(session_word, i)), 0);
  }
}

// Strips that were overwritten before they were seen are passed over.
uint32_t UseReader::ReadOne(uint32_t session_word, Allocator& allocator) {
  uint32_t strips = 0;
  for (; strips < area_.strips; ++strips) {
    uint64_t& seen = seen_[session_word];
    const std::byte* strip = region_.At(area_.Address(session_word, seen + 1));
    const uint64_t number = LoadWord(strip);
    if (number <= seen) break;
    seen = number;
    Note(strip, allocator);
  }
  return strips;
}

bool UseReader::Read(const SessionRegistry& sessions, Allocator& allocator) {
  if (area_.offset == 0) return false;
  uint32_t strips = 0;
  auto next = sessions.all().lower_bound(next_session_);
  for (size_t looked = 0; looked < sessions.all().size() && strips < kStripsPerLook; ++looked) {
    if (next == sessions.all().end()) next = sessions.all().begin();
    strips += ReadOne(next->second->word, allocator);
    ++next;
  }
  next_session_ = next == sessions.all().end() ? 0 : next->first;
  strips_read_ += strips;
  return strips != 0;
}

}  // namespace dunlin
