#pragma once

#include <string>

#include "tests/explorer/scenario.h"
#include "tests/explorer/world.h"

namespace dunlin::explorer {

// Linearizability against a sequential map, checked as the history unfolds. The monitor holds every
// state that the map may be in, with what each running operation would have to return if it has
// already taken effect in that state. A response keeps those states in which the operation took
// effect, before the response, with that very result; none left means that no order of the
// operations explains what was seen. It is a function of the history, so it can be a part of the
// explored state and states with equal monitors can be merged.
//
// Expiry is an event of the map: a record may vanish at any moment once the most advanced clock has
// reached its time, and then stays away.

// What a client was told.
struct Observed {
  Result result = Result::kOk;
  uint8_t writer = 0;
  uint8_t expiry = 0;
  int16_t value = 0;
};

class Model {
 public:
  Model(const Scenario& scenario, World& world) : scenario_(scenario), world_(world) {}

  void Begin();
  void Invoke(uint32_t client);
  // Each returns false if no explanation is left.
  bool Respond(uint32_t client, const Op& op, uint8_t op_number, const Observed& observed);
  // The operation took no effect.
  bool Void(uint32_t client);
  // The operation took effect before now, or never will.
  void Abandon(uint32_t client);
  // Keeps the states whose keys are as in `keys`.
  bool AtRest(const ModelKey (&keys)[kMaxKeys]);

  std::string Describe() const;

 private:
  // Adds every state that is reached by letting running operations take effect, up to `client`'s.
  void Extend(uint32_t client);
  bool Add(const Config& config);
  void Normalise();
  const Op& OpOf(uint32_t client) const {
    return scenario_.clients[client].ops[world_.clients[client].op];
  }
  uint8_t ExpectedWriter(uint32_t client, const Op& op) const {
    return op.expected != 0 ? op.expected : WriterOf(world_.clients[client].last_version);
  }
  void Take(uint32_t client, Config& config) const;

  const Scenario& scenario_;
  World& world_;
};

}  // namespace dunlin::explorer
