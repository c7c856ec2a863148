#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/kvctl/formats/byte_stream.h"
#include "common/base/clock.h"

namespace dunlin::kvctl {

enum class ProgressMode {
  kAuto,    // a bar on a terminal, nothing otherwise
  kAlways,  // a bar on a terminal, a line every few seconds otherwise
  kNever,
};

// Says on a terminal or in a log how far a long command has come:
//
//   import [=========>          ]  45.2 %  28,700 records  12.3 MiB  61.0 k/s  0:12 left
//
// Cheap enough to be updated for every batch: it looks at the clock and draws 10 times a second at
// most (a line every 5 s where there is no terminal). An error of the sink silences it, since the
// command itself must go on. Not thread safe.
class Progress {
 public:
  struct Options {
    ProgressMode mode = ProgressMode::kAuto;
    bool terminal = false;  // what the sink is
    int columns = 80;       // of the terminal; a bar is at most one less
    std::string label;      // "import"
    std::string unit = "records";
  };

  struct State {
    uint64_t done = 0;    // in units
    uint64_t failed = 0;  // of these
    uint64_t bytes = 0;   // not shown if 0
    // How much of the whole that is, 0 to 1; none if the size of the whole is not known.
    std::optional<double> fraction = {};
  };

  // `clock` and `sink` must outlive the object. Time runs from here on.
  Progress(Options options, const Clock* clock, ByteSink* sink);

  void Update(const State& state);

  // Draws the last state and ends the line; later calls do nothing.
  void Finish(const State& state);

  // Clears a drawn bar, so that other text can be written to the same terminal.
  void Hide();

 private:
  enum class Style { kNone, kBar, kLines };

  std::string Describe(const State& state, int64_t now, bool with_bar) const;
  void Draw(const State& state, int64_t now);
  void Emit(std::string_view text);

  const Options options_;
  const Clock* const clock_;
  ByteSink* const sink_;
  Style style_;
  const int64_t start_nanos_;
  int64_t next_nanos_;
  bool drawn_ = false;
};

}  // namespace dunlin::kvctl
