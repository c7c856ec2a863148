#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/end_to_end/kvctl/kvctl_process.h"
#include "tests/support/store_fixture.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::testing {

// A store with a snapshot directory that outlives its servers.
class SnapshotFixture : public StoreFixture {
 protected:
  std::string dir() const { return disk_.path() + "/snapshots"; }
  std::string SnapshotPath(uint64_t id) const;
  // Arguments for a server on the directory; snapshots on demand only, unless `more` says more.
  std::vector<std::string> Arguments(const std::vector<std::string>& more = {}) const;

  // A server on the directory in place of what there was, which is killed if it is still there, and
  // a session.
  void StartOn(const std::vector<std::string>& more = {}, const std::string& memory = "64MiB");
  // kill -9. Our session is gone before, so that nothing is under way.
  void Kill();
  // SIGTERM; the exit code.
  int Stop();
  // Kill, and StartOn with the same directory.
  void Crash(const std::vector<std::string>& more = {}, const std::string& memory = "64MiB");

  // Has one made, and fails the test if that does.
  SnapshotSummary Create();
  ServerSnapshots Snapshots();

  struct Record {
    std::string value;
    uint64_t version = 0;
    std::optional<Milliseconds> ttl_left;
    int64_t seen_nanos = 0;  // when ttl_left was that
  };
  using Records = std::map<std::string, Record>;
  void Put(Records* records, const std::string& key, const std::string& value,
           const PutOptions& options = {});
  // Everything that a scan finds.
  Records Scan();
  // That each of `records` is there as it was, and times to live are right to within a second.
  void ExpectThere(const Records& records);

  // As a user would, without a server.
  kvctl::KvctlResult Kvctl(const std::vector<std::string>& arguments,
                           std::string_view input = {}) const;
  // With --server.
  kvctl::KvctlResult KvctlOnServer(std::vector<std::string> arguments,
                                   std::string_view input = {}) const;

  const TemporaryFolder disk_;
};

int64_t NowNanos();

// Files with that ending in a folder.
std::vector<std::string> FilesIn(const std::string& folder, const std::string& ending);
// Changes one byte in the middle of the file.
void FlipByte(const std::string& path);

}  // namespace dunlin::testing
