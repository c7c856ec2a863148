#include "client/session/access_log.h"

#include "client/session/session_impl.h"

namespace dunlin {

// A strip that can't be sent is lost: nobody relies on it.
void SessionImpl::SendUses() {
  const AccessStrip& strip = access_.Take();
  if (mapping_ != nullptr) {
    std::byte* to = link_->region->base() + access_.address();
    for (uint32_t i = 0; i + 1 < kUsesPerStrip; ++i) {
      StoreWord(to + (i + 1) * kWordBytes, strip.words[i]);
    }
    // Behind the words: who sees the number sees no older ones.
    StoreWord(to, strip.number);
    ++stats_.writes;
    ++stats_.verbs;
    return;
  }
  if (access_.under_way || !channel_->broken().ok()) return;
  access_.sent = strip;
  access_.chain.Clear();
  access_.chain.cookie = kAccessCookie;
  access_.chain.Write(access_.address(), 0, 0, reinterpret_cast<const std::byte*>(&access_.sent),
                      kStripBytes);
  access_.under_way = true;
  ++stats_.writes;
  ++stats_.verbs;
  channel_->Post(&access_.chain);
}

}  // namespace dunlin
