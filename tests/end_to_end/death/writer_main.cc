// writer TARGET FILE SESSIONS ID: until it is killed, adds 1 to the counter "sum" and puts its own
// and shared keys, and keeps in FILE how many additions were acknowledged. With SESSIONS over 1 it
// opens so many, writes once with each, and then only waits.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "dunlin/client.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Run(dunlin::Client& client, int file, int sessions, const std::string& id) {
  dunlin::SessionOptions options;
  if (sessions > 1) options.location_cache_bytes = 4096;
  std::vector<std::unique_ptr<dunlin::Session>> open;
  for (int i = 0; i < sessions; ++i) {
    auto session = client.OpenSession(options);
    if (!session.ok()) return Fail(session.status());
    open.push_back(*std::move(session));
  }
  uint64_t acknowledged = 0;
  for (uint64_t round = 0;; ++round) {
    dunlin::Session& session = *open[round % open.size()];
    const bool added = session.Add(dunlin::AsBytes("sum"), 1).ok();
    acknowledged += added;
    if (pwrite(file, &acknowledged, sizeof acknowledged, 0) != sizeof acknowledged) return 1;
    if (!added) return Fail(session.connection());
    const std::string text = std::to_string(round % 50);
    const std::string value(100 + round % 700, 'v');
    for (const std::string& key : {"own-" + id + "-" + text, "shared-" + text}) {
      const absl::Status put = session.Put(key, value).status();
      if (!put.ok()) return Fail(put);
    }
    if (round % 3 == 0) session.Remove("shared-" + text).IgnoreError();
    if (sessions > 1 && round + 1 == open.size()) pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 2;
  auto client = dunlin::Client::Connect(argv[1]);
  if (!client.ok()) return Fail(client.status());
  return Run(**client, file, std::atoi(argv[3]), argv[4]);
}
