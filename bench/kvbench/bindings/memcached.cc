#include "bench/kvbench/bindings/memcached.h"

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/text_connection.h"
#include "common/base/host_port.h"
#include "common/base/status.h"
#include "common/base/sync.h"

namespace dunlin::kvbench {
namespace {

using Stats = std::map<std::string, std::string, std::less<>>;

double NumberIn(const Stats& stats, std::string_view name) {
  const auto at = stats.find(name);
  return at == stats.end() ? 0 : std::strtod(at->second.c_str(), nullptr);
}

// Of all chunks that hold an item, and of the hash table.
uint64_t MemoryIn(const Stats& general, const Stats& slabs) {
  double bytes = NumberIn(general, "hash_bytes");
  for (const auto& [name, chunk_bytes] : slabs) {
    const size_t colon = name.find(":chunk_size");
    if (colon == std::string::npos) continue;
    bytes += std::strtod(chunk_bytes.c_str(), nullptr) *
             NumberIn(slabs, name.substr(0, colon) + ":used_chunks");
  }
  return WholeNumber(bytes);
}

class Memcached : public Binding {
 public:
  explicit Memcached(const MemcachedSettings& settings)
      : settings_(settings), control_(settings.server, settings.timeout_ms) {}

  absl::Status Connect() {
    DUNLIN_ASSIGN_OR_RETURN(const Stats stats, Ask("stats\r\n"));
    const auto at = stats.find("version");
    version_ = at == stats.end() ? "of unknown version" : at->second;
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return settings_.library ? OpenLibmemcached(settings_) : OpenDirect(settings_);
  }

  ServerUse Use() override {
    const absl::StatusOr<Stats> general = Ask("stats\r\n");
    const absl::StatusOr<Stats> slabs = Ask("stats slabs\r\n");
    if (!general.ok() || !slabs.ok()) return {};
    ServerUse use;
    use.known = true;
    use.cpu_nanos = WholeNumber(
        (NumberIn(*general, "rusage_user") + NumberIn(*general, "rusage_system")) * 1e9);
    use.memory_bytes = MemoryIn(*general, *slabs);
    return use;
  }

  std::string Describe() const override {
    const std::string client = !settings_.library ? "meta protocol"
                               : settings_.binary ? "libmemcached, binary"
                                                  : "libmemcached, ascii";
    return "memcached " + version_ + ", " + settings_.server.Kind() + ", " + client;
  }

 private:
  absl::StatusOr<Stats> Ask(std::string_view command) {
    MutexLock lock(mutex_);
    DUNLIN_RETURN_IF_ERROR(control_.Connect());
    DUNLIN_RETURN_IF_ERROR(control_.Send(command));
    Stats stats;
    for (;;) {
      DUNLIN_ASSIGN_OR_RETURN(const TextConnection::Piece piece, control_.ReadLine());
      const std::string line(control_.Text(piece));
      if (line == "END") return stats;
      const size_t space = line.find(' ', 5);
      if (!line.starts_with("STAT ") || space == std::string::npos) {
        return control_.Lost("expected statistics, found '" + line + "'");
      }
      stats[line.substr(5, space - 5)] = line.substr(space + 1);
    }
  }

  const MemcachedSettings settings_;
  std::string version_;
  Mutex mutex_;
  TextConnection control_ ABSL_GUARDED_BY(mutex_);
};

absl::Status ReadServer(const Properties& properties, Endpoint& server) {
  server.socket = properties.Get("memcached.socket", "");
  if (!server.socket.empty()) return absl::OkStatus();
  std::string hosts = properties.Get("memcached.hosts", "127.0.0.1:11211");
  if (hosts.find_first_of(", ") != std::string::npos) {
    return absl::InvalidArgumentError("memcached.hosts: expected one host, found '" + hosts + "'");
  }
  if (hosts.find(':') == std::string::npos) hosts += ":11211";
  const absl::StatusOr<HostPort> parsed = ParseHostPort(hosts);
  if (!parsed.ok()) return WithContext(parsed.status(), "memcached.hosts");
  server.host = parsed->host;
  DUNLIN_ASSIGN_OR_RETURN(server.port, ParsePort(parsed->port, "memcached.hosts"));
  return absl::OkStatus();
}

absl::Status ReadClient(const Properties& properties, MemcachedSettings& settings) {
  const std::string client = properties.Get("memcached.client", "libmemcached");
  if (client != "libmemcached" && client != "direct") {
    return absl::InvalidArgumentError(
        "memcached.client: expected 'libmemcached' or 'direct', found '" + client + "'");
  }
  const std::string protocol = properties.Get("memcached.protocol", "ascii");
  if (protocol != "ascii" && protocol != "binary") {
    return absl::InvalidArgumentError("memcached.protocol: expected 'ascii' or 'binary', found '" +
                                      protocol + "'");
  }
  settings.library = client == "libmemcached";
  settings.binary = protocol == "binary";
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeMemcached(const Properties& properties) {
  MemcachedSettings settings;
  DUNLIN_RETURN_IF_ERROR(ReadServer(properties, settings.server));
  DUNLIN_RETURN_IF_ERROR(ReadClient(properties, settings));
  DUNLIN_ASSIGN_OR_RETURN(settings.timeout_ms,
                          properties.GetInt("memcached.opTimeoutMillis", 60000));
  if (settings.timeout_ms < 1 || settings.timeout_ms > 1'000'000'000) {
    return absl::InvalidArgumentError(
        "memcached.opTimeoutMillis: expected 1 to 1000000000 milliseconds, found " +
        std::to_string(settings.timeout_ms));
  }
  auto memcached = std::make_unique<Memcached>(settings);
  const absl::Status connected = memcached->Connect();
  if (!connected.ok()) {
    return WithContext(connected,
                       "no memcached to be had (start memcached, or name it with -p "
                       "memcached.socket=PATH or memcached.hosts=HOST:PORT)");
  }
  return memcached;
}

}  // namespace dunlin::kvbench
