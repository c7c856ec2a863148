#include "client/kvctl/doctor/ethtool_query.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/module_eeprom.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvctl {
namespace {

// Drivers have a few hundred statistics; a count that a driver gets wrong must not eat the memory.
constexpr uint32_t kMostStatistics = 1 << 16;
constexpr uint32_t kLongestModule = 1 << 12;

// An ethtool command with its variable part, aligned as its structs are.
class Command {
 public:
  explicit Command(size_t bytes) : words_((bytes + 7) / 8) {}
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(words_.data());
  }

 private:
  std::vector<uint64_t> words_;
};

absl::Status Ask(const std::string& netdev, const char* name, void* command) {
  ifreq request{};
  if (netdev.size() >= sizeof(request.ifr_name)) {
    return absl::UnavailableError(absl::StrCat(netdev, ": no interface has so long a name"));
  }
  std::copy(netdev.begin(), netdev.end(), request.ifr_name);
  request.ifr_data = static_cast<char*>(command);
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) {
    return absl::UnavailableError(absl::StrCat(name, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> StatisticsCount(const std::string& netdev) {
  Command command(sizeof(ethtool_sset_info) + sizeof(uint32_t));
  auto* info = command.as<ethtool_sset_info>();
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = uint64_t{1} << ETH_SS_STATS;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GSSET_INFO", info));
  if (info->sset_mask == 0) return 0u;
  return std::min(info->data[0], kMostStatistics);
}

}  // namespace

absl::StatusOr<std::string> QueryFec(const std::string& netdev) {
  constexpr std::pair<uint32_t, const char*> kModes[] = {{ETHTOOL_FEC_OFF, "off"},
                                                         {ETHTOOL_FEC_RS, "RS"},
                                                         {ETHTOOL_FEC_BASER, "BaseR"},
                                                         {ETHTOOL_FEC_LLRS, "LLRS"},
                                                         {ETHTOOL_FEC_AUTO, "auto"}};
  ethtool_fecparam parameters{};
  parameters.cmd = ETHTOOL_GFECPARAM;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GFECPARAM", &parameters));
  std::string text;
  for (const auto& [bit, name] : kModes) {
    if ((parameters.active_fec & bit) != 0) absl::StrAppend(&text, text.empty() ? "" : " ", name);
  }
  if (text.empty()) return absl::UnavailableError("ETHTOOL_GFECPARAM: no active mode is told");
  return text;
}

absl::StatusOr<ModuleReadings> QueryModule(const std::string& netdev) {
  ethtool_modinfo info{};
  info.cmd = ETHTOOL_GMODULEINFO;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GMODULEINFO", &info));
  const uint32_t length = std::min(info.eeprom_len, kLongestModule);
  Command command(sizeof(ethtool_eeprom) + length);
  auto* eeprom = command.as<ethtool_eeprom>();
  eeprom->cmd = ETHTOOL_GMODULEEEPROM;
  eeprom->len = length;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GMODULEEEPROM", eeprom));
  return ReadModule(static_cast<ModuleLayout>(info.type), {eeprom->data, length});
}

absl::StatusOr<std::map<std::string, uint64_t>> QueryStatistics(const std::string& netdev) {
  DUNLIN_ASSIGN_OR_RETURN(const uint32_t count, StatisticsCount(netdev));
  Command names(sizeof(ethtool_gstrings) + size_t{count} * ETH_GSTRING_LEN);
  auto* strings = names.as<ethtool_gstrings>();
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GSTRINGS", strings));
  Command values(sizeof(ethtool_stats) + size_t{count} * sizeof(uint64_t));
  auto* stats = values.as<ethtool_stats>();
  stats->cmd = ETHTOOL_GSTATS;
  stats->n_stats = count;
  DUNLIN_RETURN_IF_ERROR(Ask(netdev, "ETHTOOL_GSTATS", stats));
  std::map<std::string, uint64_t> statistics;
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = reinterpret_cast<const char*>(strings->data) + size_t{i} * ETH_GSTRING_LEN;
    statistics[std::string(name, ::strnlen(name, ETH_GSTRING_LEN))] = stats->data[i];
  }
  return statistics;
}

}  // namespace dunlin::kvctl
