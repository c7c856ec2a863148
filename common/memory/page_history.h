#pragma once

#include <cstdint>
#include <span>

namespace dunlin {

// Which generation blocks start with when a page gets another format.
//
// What must hold: a heap offset a and a generation modulo 1024, once handed out, are not handed out
// again until W = 256 G after the return of that block (G: the grace period). A client drops a
// location that it has not seen current for W, so no word that it compares can have come back.
//
// Terms. V(a) is the generation that a would be handed out with next. It grows by one when a block
// at a comes out of grace, and is set to the page's base when the page is formatted. A page whose
// blocks have all come out of grace may be *retired*: its next base is then chosen; a page that no
// block started in keeps the base it has. A format is *old* if it was retired W or more after it
// was made, else *young*. Let M be the highest V in the page.
//
// The rule: a page is retired with base = the upper end of the shortest arc (modulo 1024) that
// holds every V of a block that starts in it. If that arc is wider than kMaxSpread, the page rests:
// it is not formatted again before W has passed, and nothing from before matters then.
//
//   1. Between growths of one V(a) lies a grace period, so V(a) grows by at most t/G + 1 in any
//   time
//      t. M also grows at most once a G: for a block to pass from m + 1 to m + 2 it must have got
//      to m + 1 first, and stayed for a G.
//   2. A young format is retired with base = M: every V is at most W/G + 1 = 257 above the old
//   base,
//      so the shortest arc ends at the highest. M never changes by a young retirement, and the page
//      never rests.
//   3. At the retirement of an old format each V jumps by at most the arc's width w <= kMaxSpread.
//
// Let a be returned at t1 and handed out at t2 < t1 + W. V(a) grew by less than 1024:
//   - Both in one format: at most W/G + 1 = 257, by 1.
//   - a's format at t1 was young: it began after t1 - W with every V equal to M, and no old format
//     ends before t2 but after t1 (it would have lasted W). So V(a) grew by at most the growth of M
//     over 2 W: 513.
//   - It was old, ending at T in between: (T - t1)/G + 1 by 1, then w, then (t2 - T)/G + 1 by 1 and
//   2
//     (nothing that follows is old, see above): 258 + w <= 770.
// It grew by at least one, so its value modulo 1024 is another one.
inline constexpr uint32_t kGenerationWindow = 256;  // W in grace periods: 2^10 / 4
inline constexpr uint32_t kMaxSpread = 512;
static_assert(2 * kGenerationWindow + 1 < 1024);
static_assert(kGenerationWindow + 2 + kMaxSpread < 1024);

struct NextBase {
  uint16_t base = 0;
  bool rests = false;
};

// `generations`: V of every block that starts in the page, at least one; all of them are free.
NextBase RetirePage(std::span<const uint16_t> generations);

}  // namespace dunlin
