// A server in a process of its own, for tests that kill it: verbs_test_server ADDRESS. Prints its
// port and, once the first session has come, what sessions may use; serves until it is killed. As
// verbs_test_server ADDRESS PORT it is a client, which reads the same from standard input, and
// writes to the region and counts up a word of it until it is killed.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/fabric/verbs/verbs_dial.h"
#include "tests/rdma/verbs_server_testing.h"

namespace dunlin {
namespace {

int Serve(const std::string& address) {
  TestServer::Options options;
  options.endpoint.address = address;
  auto server = TestServer::Start(options);
  if (!server.ok()) return std::printf("%s\n", server.status().ToString().c_str()), 1;
  std::printf("%s\n", (*server)->port().c_str());
  std::fflush(stdout);
  RegionAccess access;
  while (access.keys.empty()) access = (*server)->Access(false);
  WriteAccess(access, stdout);
  for (;;) TestServer::Await([] { return false; });
}

int Load(const std::string& address, const std::string& port) {
  auto connection =
      DialVerbs(address, port, Deadline::After(std::chrono::seconds(10)), VerbsOptions());
  if (!connection.ok()) {
    return std::fprintf(stderr, "%s\n", connection.status().ToString().c_str()), 1;
  }
  RegionAccess access = ReadAccess(stdin);
  auto channel = (*connection)->OpenChannel(access);
  std::vector<std::byte> scratch(4096);
  std::printf("loading\n");
  std::fflush(stdout);
  for (;;) {
    Chain chain;
    chain.scratch = scratch.data();
    chain.Write(8192, 0, 4096, nullptr, 0);
    chain.FetchAdd(64, 1);
    channel->Post(&chain);
    Chain* done = nullptr;
    while (channel->Poll(&done, 1) == 0) channel->WaitFor(1'000'000'000);
    if (chain.outcome != ChainOutcome::kDone) return 2;
  }
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  if (argc == 2) return dunlin::Serve(argv[1]);
  if (argc == 3) return dunlin::Load(argv[1], argv[2]);
  std::fprintf(stderr, "verbs_test_server ADDRESS [PORT]\n");
  return 2;
}
