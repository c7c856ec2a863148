#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dunlin/client.h"
#include "dunlin/session.h"
#include "tests/support/server_process.h"

namespace dunlin::bench {

// What measurements on servers of their own share. They end the program with a message if they
// can't measure.
std::unique_ptr<testing::ServerProcess> StartServer(const std::string& memory,
                                                    std::vector<std::string> more);
std::unique_ptr<Client> ConnectTo(const testing::ServerProcess& server);
std::unique_ptr<Session> OpenOn(Client& client, uint64_t cache_bytes);

inline constexpr uint32_t kKeyBytes = 16;

// A line for bench/targets: met if `measured` is at most `bound`.
void PrintRatio(const std::string& name, double measured, double bound, const std::string& details);

}  // namespace dunlin::bench
