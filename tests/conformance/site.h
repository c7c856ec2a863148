#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/lane/lane.h"
#include "common/fabric/fabric.h"

namespace dunlin::testing {

// One session of a test, and memory of its own in the region. Belongs to one thread.
class Seat {
 public:
  virtual ~Seat() = default;
  virtual Channel& channel() = 0;
  // Null where the region has no server.
  virtual Lane* lane() = 0;
  // So many bytes of the region that nobody else uses, on a word's border, of any content: their
  // address. Nobody has them again as long as the seat lives.
  virtual absl::StatusOr<uint64_t> Take(uint64_t bytes) = 0;
  virtual uint64_t region_bytes() const = 0;
};

// What differs between the places where the suite runs, as far as the contract lets it.
struct SiteTraits {
  // Chains are carried out in Poll, so nothing ever waits.
  bool executes_in_poll = false;
  // Whether a READ of more than a word can meet a WRITE half done.
  bool tears = true;
  // Chain::follow is granted.
  bool follows = false;
  // There is a server process, which can be stopped and killed.
  bool has_server = true;
  // Channel and lane share a connection, which breaks as one.
  bool shares_connection = true;
  // READs and WRITEs longer than this are not asked for; chains that read more in all may be
  // refused.
  uint64_t largest_work = uint64_t{64} << 20;
};

// A region, and the way to it that is under test. Open is thread safe.
class Site {
 public:
  virtual ~Site() = default;
  virtual const SiteTraits& traits() const = 0;
  virtual absl::StatusOr<std::unique_ptr<Seat>> Open(bool read_only) = 0;
  // A session by another way to the same region; null if its server allows none.
  virtual std::unique_ptr<Seat> OpenByOtherFabric() { return nullptr; }

  // REQUIRES for all three: has_server.
  virtual void StopServer() {}  // no more of its instructions until the next one
  virtual void ContinueServer() {}
  virtual void KillServer() {}
};

// As the environment asks (server_process.h).
absl::StatusOr<std::unique_ptr<Site>> MakeServerSite();

// The explorer's world: chains take effect word by word, in random orders of those that the
// contract allows, so that each test is also shown to ask for no more than that.
std::unique_ptr<Site> MakeModelSite();

}  // namespace dunlin::testing
