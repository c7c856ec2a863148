#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "bench/raw_verbs/raw_client.h"
#include "bench/raw_verbs/raw_server.h"
#include "bench/raw_verbs/tsc.h"
#include "common/base/status.h"

namespace dunlin::bench {
namespace {

constexpr uint32_t kWarmUp = 20;

enum class Pattern { kRead, kReadPair, kWrite, kWriteCas, kPingPong };

struct MeasureOptions {
  RawClientOptions client;
  Pattern pattern = Pattern::kRead;
  uint32_t count = 1000;
  uint32_t bytes = 64;
};

const std::map<std::string, Pattern> kPatterns = {{"read", Pattern::kRead},
                                                  {"read-pair", Pattern::kReadPair},
                                                  {"write", Pattern::kWrite},
                                                  {"write-cas", Pattern::kWriteCas},
                                                  {"ping-pong", Pattern::kPingPong}};
const std::map<std::string, PollMode> kPollModes = {
    {"spin", PollMode::kSpin}, {"yield", PollMode::kYield}, {"block", PollMode::kBlock}};

template <typename T>
const char* NameOf(const std::map<std::string, T>& names, T value) {
  const auto found =
      std::ranges::find_if(names, [value](const auto& each) { return each.second == value; });
  return found == names.end() ? "?" : found->first.c_str();
}

absl::StatusOr<uint64_t> RunOnce(RawClient& client, Pattern pattern, uint32_t bytes) {
  switch (pattern) {
    case Pattern::kRead:
      return client.Read(bytes);
    case Pattern::kReadPair:
      return client.ReadPair(bytes);
    case Pattern::kWrite:
      return client.Write(bytes);
    case Pattern::kWriteCas:
      return client.WriteCas(bytes);
    case Pattern::kPingPong:
      return client.PingPong(bytes);
  }
  return absl::InternalError("no such pattern");
}

absl::Status Measure(const MeasureOptions& options) {
  DUNLIN_ASSIGN_OR_RETURN(const auto client, RawClient::Connect(options.client));
  for (uint32_t i = 0; i < kWarmUp; ++i) {
    DUNLIN_RETURN_IF_ERROR(RunOnce(*client, options.pattern, options.bytes));
  }
  std::vector<uint64_t> ticks(options.count);
  const TscScale scale;
  for (uint64_t& sample : ticks) {
    DUNLIN_ASSIGN_OR_RETURN(sample, RunOnce(*client, options.pattern, options.bytes));
  }
  const double nanos = scale.NanosPerTick();
  std::ranges::sort(ticks);
  const auto quantile = [&](double fraction) {
    return static_cast<double>(ticks[static_cast<size_t>(fraction * (ticks.size() - 1))]) * nanos;
  };
  std::printf(
      "raw_verbs pattern=%s bytes=%u device=%s transport=%s poll=%s server_poll=%s "
      "count=%u p10_ns=%.0f median_ns=%.0f p90_ns=%.0f\n",
      NameOf(kPatterns, options.pattern), options.bytes, client->device_name().c_str(),
      client->iwarp() ? "iwarp" : "roce", NameOf(kPollModes, options.client.poll),
      NameOf(kPollModes, options.client.server_poll), options.count, quantile(0.1), quantile(0.5),
      quantile(0.9));
  return absl::OkStatus();
}

absl::Status Serve(const std::string& address, uint16_t port) {
  DUNLIN_ASSIGN_OR_RETURN(const auto server, RawServer::Listen(address, port));
  std::printf("listening %s %u\n", address.c_str(), server->port());
  std::fflush(stdout);
  return server->Serve();
}

int Main(int argc, char** argv) {
  CLI::App app("Bare verbs between two processes: the limit for a store on verbs");
  app.require_subcommand(1);
  std::string address;
  uint16_t port = 0;
  CLI::App* const serve = app.add_subcommand(
      "serve", "be the passive side; prints 'listening ADDRESS PORT' when it is ready");
  serve->add_option("address", address, "of an RDMA interface")->required();
  serve->add_option("port", port, "0: any that is free")->required();

  MeasureOptions options;
  CLI::App* const measure = app.add_subcommand(
      "measure", "measure operations one by one, each checked for its effect; prints a line");
  measure->add_option("address", options.client.address, "the server's")->required();
  measure->add_option("port", options.client.port, "the server's")->required();
  measure->add_option("--pattern", options.pattern, "what to do in one post")
      ->required()
      ->transform(CLI::CheckedTransformer(kPatterns));
  measure->add_option("--count", options.count, "operations")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  measure->add_option("--bytes", options.bytes, "of a READ, WRITE or message")
      ->check(CLI::Range(size_t{1}, kReadArea / 2))
      ->capture_default_str();
  measure->add_option("--poll", options.client.poll, "how to wait for completions")
      ->transform(CLI::CheckedTransformer(kPollModes));
  measure
      ->add_option("--server-poll", options.client.server_poll,
                   "how the server waits for messages of ping-pong")
      ->transform(CLI::CheckedTransformer(kPollModes));
  measure->add_option("--source", options.client.source, "local address to bind");
  measure->add_flag("!--no-inline", options.client.inline_payloads,
                    "have the device fetch even small payloads");
  CLI11_PARSE(app, argc, argv);

  if (options.pattern == Pattern::kPingPong && options.bytes > kMessageBytes) {
    std::fprintf(stderr, "raw_verbs: --bytes of ping-pong is at most %zu, found %u\n",
                 kMessageBytes, options.bytes);
    return 2;
  }
  const absl::Status status = serve->parsed() ? Serve(address, port) : Measure(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "raw_verbs: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace dunlin::bench

int main(int argc, char** argv) { return dunlin::bench::Main(argc, argv); }
