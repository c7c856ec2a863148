#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dunlin/client.h"
#include "dunlin/session.h"
#include "tests/support/server_process.h"

namespace dunlin::testing {

// A server of its own and a client, on the fabric under test. A program that uses it defines
// DUNLIN_SERVER_BINARY.
class StoreFixture : public ::testing::Test {
 protected:
  // In place of what there was.
  void StartServer(std::vector<std::string> more = {}, const std::string& memory = "64MiB") {
    session_.reset();
    client_.reset();
    auto server = ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY,
                                        .memory = memory,
                                        .more = std::move(more),
                                        .fabric = FabricUnderTest()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto client = Client::Connect(server_->target());
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  // The same, and session_ is open.
  void StartStore(std::vector<std::string> more = {}, const std::string& memory = "64MiB") {
    ASSERT_NO_FATAL_FAILURE(StartServer(std::move(more), memory));
    session_ = Open();
    ASSERT_NE(session_, nullptr);
  }

  std::unique_ptr<Session> Open(const SessionOptions& options = {}) {
    auto session = client_->OpenSession(options);
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // Of the server, while session_ is the only one: it, and the watch of our client where the
  // server is reached over a network.
  static size_t OwnSessions() { return FabricUnderTest().name == "shm" ? 1 : 2; }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Session> session_;
};

}  // namespace dunlin::testing
