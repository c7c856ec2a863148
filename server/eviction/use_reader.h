#pragma once

#include <cstdint>
#include <vector>

#include "common/layout/access_log.h"
#include "common/memory/allocator.h"
#include "server/region_view.h"
#include "server/session_registry.h"

namespace dunlin {

// Takes in what the sessions tell about the records that they use (layout/access_log.h). How much
// of it is bounded: with many busy sessions it is a sample. Not thread safe.
class UseReader {
 public:
  UseReader(const RegionView& region, AccessArea area, uint32_t session_words)
      : region_(region), area_(area), seen_(area.offset == 0 ? 0 : session_words) {}

  // The session that uses the word is another one from now on.
  void Begin(uint32_t session_word);
  // One look at all sessions' strips; the uses are noted in `allocator`. False: there was nothing.
  bool Read(const SessionRegistry& sessions, Allocator& allocator);

  uint64_t strips_read() const { return strips_read_; }

 private:
  uint32_t ReadOne(uint32_t session_word, Allocator& allocator);
  void Note(const std::byte* strip, Allocator& allocator) const;

  RegionView region_;
  const AccessArea area_;
  std::vector<uint64_t> seen_;  // number of the strip last read, by session word
  uint32_t next_session_ = 0;   // who is first next time
  uint64_t strips_read_ = 0;
};

}  // namespace dunlin
