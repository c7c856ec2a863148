#pragma once

#include <atomic>
#include <cstdint>

namespace dunlin {

// The seam through which all code learns the time and lets it pass. Implementations are thread
// safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds since boot, suspension included (CLOCK_BOOTTIME): one time line for all processes
  // of a machine, never set back. For deadlines, leases and grace periods.
  virtual int64_t NowNanos() const = 0;

  // Nanoseconds since 1970-01-01 UTC. May jump either way; for people and for expiry stamps only.
  virtual int64_t WallNanos() const = 0;

  // Leaves the core to others for about `nanos`: the step between two attempts of a bounded
  // back-off. Where time doesn't pass by itself it returns at once.
  virtual void Pause(int64_t) const {}

  // Whether the processor's own counter goes on as this clock does, and may be read in its place.
  virtual bool has_counter() const { return false; }
};

class SystemClock final : public Clock {
 public:
  int64_t NowNanos() const override;
  int64_t WallNanos() const override;
  // Below what a timer can do it only yields.
  void Pause(int64_t nanos) const override;
  bool has_counter() const override { return true; }

  // For whoever is given no other; it has no state.
  static const Clock& Shared();
};

// Time that moves only when told to, for tests and simulation.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_nanos = 1, int64_t wall_nanos = 1'767'225'600'000'000'000)
      : now_(now_nanos), wall_(wall_nanos) {}

  int64_t NowNanos() const override { return now_.load(std::memory_order_acquire); }
  int64_t WallNanos() const override { return wall_.load(std::memory_order_acquire); }

  // REQUIRES: nanos >= 0.
  void Advance(int64_t nanos);
  // Sets the wall clock alone, as an administrator or NTP would.
  void SetWall(int64_t wall_nanos) { wall_.store(wall_nanos, std::memory_order_release); }

 private:
  std::atomic<int64_t> now_;
  std::atomic<int64_t> wall_;
};

}  // namespace dunlin
