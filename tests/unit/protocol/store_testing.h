#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/chain.h"
#include "common/layout/geometry.h"
#include "common/protocol/machine.h"

namespace dunlin::testing {

// One region in private memory, with a driver for the protocol's machines that carries out their
// chains at once and keeps what they were, in words:
//
//   WRITE record | READ b1 | READ b2 | READ record | READ head | READ slot | READ piece
//   CAS lock | CAS unlock | CAS slot 0->new | CAS slot old->new | CAS slot old->0
//
// joined by ", ", one string a chain: the number of strings is the number of round trips.
class Store {
 public:
  explicit Store(uint32_t slots_per_bucket = kSlotsPerBucket);

  Env env;
  std::vector<std::string> chains;
  // Called before each chain is carried out, with the number of chains before it.
  std::function<void(size_t)> before_chain;
  std::function<void()> on_wait;  // the driver gives up at a wait if this is empty
  std::function<void(const Location&)> on_ask_expire;
  std::function<void()> on_deliver;  // a machine has something to be copied, and no sink for it
  ChainOutcome outcome = ChainOutcome::kDone;  // of the chain that `before_chain` is called for
  bool no_memory = false;
  bool follows = false;                // a chain's wish is granted (fabric/follow.h)
  std::function<void()> before_swing;  // between what is read along and what is swung
  int waits = 0;
  int refreshes = 0;
  std::vector<Freed> freed;
  std::vector<std::byte> sink;

  // The text must outlive the key. Without a hash: the hash of the text.
  Key MakeKey(std::string_view text) const;
  static Key MakeKey(std::string_view text, uint64_t hash);

  Block Take(uint64_t bytes);
  struct Put {
    bool unconditional = true;
    uint64_t expiry = 0;
    uint32_t bucket = 0;  // 0: the first of the key's, 1: the second
  };
  // Puts a record there without any protocol, in a free slot.
  Location Place(const Key& key, std::string_view value, Put how);
  Location Place(const Key& key, std::string_view value) { return Place(key, value, Put{}); }
  // The same record's slot, after a change.
  Location Replace(const Location& at, const Key& key, std::string_view value, Put how);
  Location Replace(const Location& at, const Key& key, std::string_view value) {
    return Replace(at, key, value, Put{});
  }

  uint64_t WordAt(uint64_t address) const { return LoadWord(region_ + address); }
  void SetWord(uint64_t address, uint64_t word) { StoreWord(region_ + address, word); }
  std::byte* At(uint64_t address) { return region_ + address; }
  Placement PlacementOf(const Key& key) const {
    return dunlin::Place(geometry, env.directory, key.hash);
  }

  // Steps the machine until it is done, or waits and `on_wait` is empty.
  template <typename Machine>
  void Run(Machine& machine) {
    for (int steps = 0; steps < 10000; ++steps) {
      Action action = machine.Step(env, chain_);
      if constexpr (requires { machine.TakeFreed(); }) {
        if (!machine.freed().word.empty()) freed.push_back(machine.TakeFreed());
      }
      switch (action) {
        case Action::kPost:
          CarryOut();
          break;
        case Action::kVerify:
          env.now = clock;
          break;
        case Action::kNeedSink:
          if constexpr (requires { machine.SupplySink(nullptr, 0); }) {
            sink.assign(machine.value_bytes(), std::byte{0});
            machine.SupplySink(sink.data(), sink.size());
          } else if (on_deliver) {
            on_deliver();
          }
          env.now = clock;
          break;
        case Action::kNeedBlock:
          if constexpr (requires { machine.block_bytes(); }) {
            if (no_memory) {
              machine.Fail(Result::kMemoryFull);
            } else {
              machine.SupplyBlock(Take(machine.block_bytes()));
            }
          }
          break;
        case Action::kRefresh:
          ++refreshes;
          break;
        case Action::kWait:
          ++waits;
          if (!on_wait) return;
          on_wait();
          env.now = clock;
          break;
        case Action::kAskExpire:
          if constexpr (requires { machine.expire_request(); }) {
            if (on_ask_expire) on_ask_expire(machine.expire_request());
          }
          break;
        case Action::kDone:
          return;
      }
    }
  }

  Geometry geometry;
  uint64_t clock = 1000;

 private:
  void CarryOut();
  void CarryOutFrom(uint32_t first, std::string& text);
  void Execute(Work& work);
  std::string Describe(const Work& work) const;
  uint64_t Compose(const Key& key, std::string_view value, const Put& how, Location* at);

  std::unique_ptr<std::byte[]> memory_;
  std::byte* region_ = nullptr;
  std::unique_ptr<std::byte[]> scratch_;
  uint64_t directory_[1];
  uint64_t heap_used_ = 0;
  uint64_t next_version_ = 1'000'001;
  Chain chain_;
};

// A hash with the given fingerprint and buckets.
constexpr uint64_t HashOf(uint32_t fingerprint, uint32_t first, uint32_t second) {
  return uint64_t{fingerprint} << 32 | uint64_t{second} << 16 | first;
}

}  // namespace dunlin::testing
