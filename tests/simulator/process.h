#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/clock.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/fiber.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

// A client's process: what its clock shows, and when it runs. Once killed it has no effect on
// anything: its connections are cut, and its fiber runs to its end among clocks that race and calls
// that fail, only so that its memory is freed in order.
class Process final : public Clock {
 public:
  Process(World* world, const Faults* faults, uint32_t number);

  // Begins to run `body`; once in a lifetime.
  void Start(std::function<void()> body);
  bool ended() const { return fiber_ == nullptr || fiber_->done(); }
  uint32_t number() const { return number_; }

  // --- for its own code, in its fiber
  int64_t NowNanos() const override;
  int64_t WallNanos() const override { return NowNanos(); }
  void Pause(int64_t nanos) const override { self_->Block(self_->world_.now() + nanos); }
  // Until Wake or that moment, or a little later.
  void Block(int64_t until);
  // A point at which the core may go to others for a while.
  void MayPause();
  bool dead() const { return dead_; }
  // For how long in all it was kept from running.
  int64_t held() const { return held_; }
  int64_t world_now() const { return world_.now(); }

  // --- for the world
  void Wake();
  void Stop(int64_t until);
  void Jump(int64_t nanos) { jumped_ += nanos; }
  void Kill();
  // Frees what only a running process needs. REQUIRES: ended().
  void Reap() { fiber_.reset(); }
  void WhenKilled(std::function<void()> act) { when_killed_ = std::move(act); }

 private:
  void Resume(uint64_t ticket);
  int64_t Shown() const;

  World& world_;
  const Faults& faults_;
  const uint32_t number_;
  Process* const self_ = this;  // a look at the clock may take time
  std::unique_ptr<Fiber> fiber_;
  std::function<void()> when_killed_;
  int64_t drift_ppm_ = 0;
  int64_t jumped_ = 0;
  int64_t stopped_until_ = 0;
  int64_t held_ = 0;
  int64_t held_since_ = kNever;
  uint64_t ticket_ = 0;
  bool blocked_ = false;
  bool running_ = false;
  bool dead_ = false;
  int64_t raced_ = 0;  // once dead
};

}  // namespace dunlin::simulator
