#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/fabric/fabric.h"
#include "tests/conformance/site.h"

namespace dunlin::testing {

using Bytes = std::vector<std::byte>;

// So many bytes that `seed` decides; no two seeds give the same where there are at least 8.
Bytes Pattern(size_t bytes, uint64_t seed);
// Every word of it is `word`.
Bytes Repeat(size_t bytes, uint64_t word);
// Word i of it.
uint64_t WordOf(std::span<const std::byte> bytes, size_t i);

// How long a test waits for what must come before it fails.
inline constexpr int64_t kPatienceNanos = 120'000'000'000;

// Polls until `count` more chains were handed back, or patience is at its end (a failure).
std::vector<Chain*> TakeBack(Channel& channel, size_t count);
// Posts the chain and waits until it is handed back. kPending: it never was.
ChainOutcome Carry(Channel& channel, Chain& chain);

// In chains of their own; a failure unless they are done.
void Store(Channel& channel, uint64_t at, std::span<const std::byte> bytes);
void StoreWordAt(Channel& channel, uint64_t at, uint64_t word);
Bytes Fetch(Channel& channel, uint64_t at, size_t bytes);
uint64_t FetchWord(Channel& channel, uint64_t at);

// Tests against the contract of common/fabric/fabric.h. Those of one suite share a site.
class ConformanceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() { site_.reset(); }
  void SetUp() override { ASSERT_NE(site_, nullptr) << "the suite has no region to work on"; }

  static Site& site() { return *site_; }
  static const SiteTraits& traits() { return site_->traits(); }
  static std::unique_ptr<Seat> Open(bool read_only = false);
  static uint64_t Take(Seat& seat, uint64_t bytes);
  // `of_a_network` rounds, or so many more that sessions without a network between meet as often.
  static uint64_t Rounds(uint64_t of_a_network) {
    return of_a_network * (traits().executes_in_poll ? 100 : 1);
  }

  // After a test that left the site unusable.
  static void RenewSite() {
    site_.reset();
    SetUpTestSuite();
  }

 private:
  static std::unique_ptr<Site> site_;
};

}  // namespace dunlin::testing
