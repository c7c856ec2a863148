// Stores, reads and changes a few keys:  hello [SOCKET]
#include <cstdio>
#include <string>
#include <vector>

#include "dunlin/client.h"

namespace {

absl::Status Hello(const std::string& target) {
  auto client = dunlin::Client::Connect(target);
  if (!client.ok()) return client.status();
  auto opened = (*client)->OpenSession();  // one for each thread
  if (!opened.ok()) return opened.status();
  dunlin::Session& session = **opened;

  auto version = session.Put("hello:greeting", "Hello");
  if (!version.ok()) return version.status();
  auto entry = session.Get("hello:greeting");
  if (!entry.ok()) return entry.status();
  std::printf("greeting is '%s'\n", entry->value.c_str());

  // Only if nobody has changed it since.
  auto changed = session.CompareAndSet(dunlin::AsBytes("hello:greeting"), *version,
                                       dunlin::AsBytes("Hello again"));
  std::printf("first compare-and-set: %s\n", dunlin::OutcomeName(changed.outcome).data());
  auto late = session.CompareAndSet(dunlin::AsBytes("hello:greeting"), *version,
                                    dunlin::AsBytes("Too late"));
  std::printf("second, with the old version: %s\n", dunlin::OutcomeName(late.outcome).data());

  // Many keys cost hardly more time than one.
  const std::vector<std::string> keys = {"hello:greeting", "hello:nothing"};
  std::vector<std::string> values(keys.size(), std::string(64, '\0'));
  std::vector<dunlin::GetRequest> requests(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    requests[i].key = dunlin::AsBytes(keys[i]);
    requests[i].buffer = std::as_writable_bytes(std::span(values[i]));
  }
  session.MultiGet(requests);
  for (size_t i = 0; i < keys.size(); ++i) {
    const dunlin::GetResult& result = requests[i].result;
    if (result.ok()) values[i].resize(result.value_bytes);
    std::printf("%s: %s\n", keys[i].c_str(),
                result.ok() ? values[i].c_str() : dunlin::OutcomeName(result.outcome).data());
  }
  return session.Remove("hello:greeting");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string socket = argc > 1 ? argv[1] : "/run/dunlin/dunlin.sock";
  const absl::Status status = Hello("shm://" + socket);
  if (!status.ok()) std::fprintf(stderr, "hello: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
