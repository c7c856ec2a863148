#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/kvctl/doctor/checks.h"
#include "client/kvctl/doctor/host_calls.h"
#include "client/kvctl/doctor/host_facts.h"
#include "tests/support/temporary_folder.h"

// Hosts that this machine is not: their files, written below a temporary folder, and what their
// calls would answer. The files follow the kernel's documents and drivers, which are named in
// host_trees.cc; no such hardware was at hand.

namespace dunlin::kvctl {

using Tree = std::map<std::string, std::string>;  // path -> contents

// Healthy hosts; a test breaks one thing.
Tree ConnectxInfiniband();  // mlx5_0, port 1: InfiniBand, 200 Gbit/s; IPoIB on ib0
Tree ConnectxRoce();        // mlx5_0, port 1: RoCEv2, 100 Gbit/s, on eth0; 10.0.0.1
Tree IrdmaIwarp();          // irdma0, port 1: iWARP, 25 Gbit/s, on eth1
Tree Cxgb4Iwarp();          // cxgb4_0, ports 1 and 2: iWARP; counters are the device's
Tree PlainHost();           // no RDMA
// Adds or replaces.
Tree operator+(Tree tree, const Tree& more);
Tree operator-(Tree tree, const std::string& path);  // and all below it

// A tree in memory.
class MapTree final : public FileTree {
 public:
  explicit MapTree(Tree tree) : tree_(std::move(tree)) {}
  bool Exists(const std::string& path) const override;
  std::optional<std::string> Text(const std::string& path) const override;
  std::vector<std::string> Names(const std::string& folder) const override;

 private:
  Tree tree_;
};

// Writes a tree to a folder that goes with the object.
class WrittenTree {
 public:
  explicit WrittenTree(const Tree& tree);
  const std::string& root() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

class FakeCalls final : public HostCalls {
 public:
  absl::StatusOr<std::vector<VerbsDevice>> devices = std::vector<VerbsDevice>();
  std::map<std::string, int> open_errors;
  absl::StatusOr<FilesystemSpace> space = FilesystemSpace{16u << 30, 15u << 30};
  std::multimap<std::string, std::string> addresses;
  std::map<std::string, LinkAnswers> links;

  absl::StatusOr<std::vector<VerbsDevice>> Devices() override { return devices; }
  int OpenError(const std::string& path) override {
    const auto found = open_errors.find(path);
    return found == open_errors.end() ? 0 : found->second;
  }
  absl::StatusOr<FilesystemSpace> Space(const std::string&) override { return space; }
  absl::StatusOr<std::multimap<std::string, std::string>> Addresses() override { return addresses; }
  LinkAnswers AskLink(const std::string& netdev) override { return links[netdev]; }
};

// What goes with each tree.
FakeCalls ConnectxInfinibandCalls();
FakeCalls ConnectxRoceCalls();
FakeCalls IrdmaIwarpCalls();

HostFacts FactsOf(const Tree& tree, FakeCalls calls);
HostFacts FactsOfFiles(const Tree& tree);  // as with --root

// The finding of this check; fails the test, and returns an empty one, unless there is just one.
Finding Only(const Findings& findings, const std::string& check);
// "source = value" of each, a line each.
std::string EvidenceOf(const Finding& finding);

}  // namespace dunlin::kvctl
