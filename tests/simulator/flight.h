#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/fabric/chain.h"
#include "tests/explorer/chain_steps.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/region.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

// A chain, or the part of it before `end`, on its way through the adapters: its verbs take effect
// piece by piece, in an order that common/fabric/fabric.h permits. What it writes was copied when
// it was posted; what it reads goes to the client's memory until it is detached.
class Flight : public std::enable_shared_from_this<Flight> {
 public:
  Flight(World* world, const Faults* faults, Chain* chain, uint32_t end);

  // The first verb takes effect after `delay`; `done` runs with the last.
  void Start(std::shared_ptr<Region> region, int64_t delay, std::function<void()> done);
  // Nothing more takes effect.
  void Stop() { stopped_ = true; }
  // The chain is no longer there to be written to.
  void Detach() { chain_ = nullptr; }

  Chain* chain() const { return chain_; }
  bool begun() const { return begun_; }

 private:
  struct Piece {
    uint32_t begin;
    uint32_t end;
  };
  void Cut(uint32_t verb);
  void Step();
  uint32_t Choose();
  void Do(uint32_t verb, Piece piece);
  void DoWord(Work& work, std::byte* at);

  World& world_;
  const Faults& faults_;
  Chain* chain_;
  Chain copy_;  // what it is about, whatever becomes of the chain
  std::vector<std::byte> written_[kMaxWorks];
  std::vector<Piece> left_[kMaxWorks];
  std::shared_ptr<Region> region_;
  std::function<void()> done_;
  bool begun_ = false;
  bool stopped_ = false;
};

}  // namespace dunlin::simulator
