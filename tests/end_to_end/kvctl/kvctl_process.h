#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/server_process.h"

namespace dunlin::kvctl {

struct KvctlResult {
  int exit = -1;
  std::string out;
  std::string err;
};

// Runs kvctl with the arguments, in `folder`, where it keeps the three streams in files.
KvctlResult RunKvctl(const std::string& folder, const std::vector<std::string>& arguments,
                     std::string_view input = {});

void WriteFile(const std::string& path, std::string_view bytes);
std::string ReadFile(const std::string& path);

// A server, and kvctl talking to it.
class KvctlTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer("64MiB", {"--records", "20000"}); }

  // Replaces the server by an empty one.
  void StartServer(const std::string& memory, std::vector<std::string> more);

  // As a user would, with --server.
  KvctlResult Kvctl(std::vector<std::string> arguments, std::string_view input = {}) {
    arguments.insert(arguments.begin(), {"--server", server_->target()});
    return RunKvctl(server_->folder(), arguments, input);
  }

  std::string Path(const std::string& name) const { return server_->folder() + "/" + name; }

  std::unique_ptr<testing::ServerProcess> server_;
};

}  // namespace dunlin::kvctl
