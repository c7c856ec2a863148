#include "tests/simulator/world.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/check.h"

namespace dunlin::simulator {
namespace {

constexpr std::array kNames = {"post",    "verb",         "complete",     "call",         "answer",
                               "connect", "cut",          "fenced",       "kill",         "stop",
                               "jump",    "server start", "server crash", "server stall", "loss"};

}  // namespace

void World::At(int64_t time, std::function<void()> act) {
  DUNLIN_CHECK_GE(time, now_);
  queue_.push_back({time, next_number_++, std::move(act)});
  std::push_heap(queue_.begin(), queue_.end());
}

bool World::Step() {
  if (queue_.empty()) return false;
  std::pop_heap(queue_.begin(), queue_.end());
  Event event = std::move(queue_.back());
  queue_.pop_back();
  now_ = event.time;
  ++events_;
  event.act();
  return true;
}

void World::Note(Happening what, uint64_t a, uint64_t b, uint64_t c) {
  for (const uint64_t word : {static_cast<uint64_t>(now_), static_cast<uint64_t>(what), a, b, c}) {
    digest_ = (digest_ ^ word) * 0x9E3779B97F4A7C15;
    digest_ ^= digest_ >> 29;
  }
  if (!trace_) return;
  std::printf("%12.6f ms  %-12s %llu %llu %llu\n", static_cast<double>(now_ - kSecond) / 1e6,
              kNames[static_cast<size_t>(what)], static_cast<unsigned long long>(a),
              static_cast<unsigned long long>(b), static_cast<unsigned long long>(c));
}

}  // namespace dunlin::simulator
