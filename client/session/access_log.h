#pragma once

#include <cstdint>
#include <memory>

#include "common/fabric/chain.h"
#include "common/layout/access_log.h"
#include "common/layout/slot.h"

namespace dunlin {

// The records that a session used lately, for a server in cache mode (layout/access_log.h). One
// that was told a moment ago is left out, so that the hottest ones don't fill the strips. Not
// thread safe.
class AccessLog {
 public:
  // Without an area nobody wants to know.
  void Begin(AccessArea area, uint32_t session_word) {
    area_ = area;
    session_word_ = session_word;
    used_ = 0;
    number_ = 0;
    lately_ = area.offset == 0 ? nullptr : std::make_unique<uint64_t[]>(kLately);
  }
  bool on() const { return lately_ != nullptr; }

  // A record was used at that tick. True: Take the strip.
  bool Note(SlotWord word, uint64_t tick) {
    ++uses_;
    // Changes every half a second, so that what is still in use is told again.
    const uint64_t mark = word.raw() ^ (tick >> 9);
    uint64_t& told = lately_[(word.raw() * kSpread) >> (64 - kLatelyBits)];
    if (told == mark) return false;
    told = mark;
    if (used_ + 1 < kUsesPerStrip) strip_.words[used_++] = word.raw();
    return used_ + 1 == kUsesPerStrip && uses_ >= kUsesPerStrip;
  }
  const AccessStrip& Take() {
    used_ = 0;
    uses_ = 0;
    strip_.number = ++number_;
    return strip_;
  }
  // Of the strip last taken.
  uint64_t address() const { return area_.Address(session_word_, number_); }

  // On its way over a network: these are the channel's while `under_way`.
  Chain chain;
  AccessStrip sent;
  bool under_way = false;

 private:
  static constexpr int kLatelyBits = 12;
  static constexpr size_t kLately = size_t{1} << kLatelyBits;
  static constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;

  AccessArea area_;
  uint32_t session_word_ = 0;
  uint64_t number_ = 0;
  uint32_t used_ = 0;  // words in the strip
  uint64_t uses_ = 0;  // since the last strip was taken
  AccessStrip strip_;
  std::unique_ptr<uint64_t[]> lately_;
};

}  // namespace dunlin
