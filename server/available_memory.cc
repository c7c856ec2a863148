#include "server/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace dunlin {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
constexpr const char* kOomScore = "/proc/self/oom_score_adj";

// The number behind `key` and blanks, of a file of such lines.
std::optional<uint64_t> NumberOf(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t number = 0;
    if (words >> name && name == key && words >> number) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> SingleNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

// Page cache that the group has not touched lately makes room when it is needed.
uint64_t RoomInGroup(const std::string& folder) {
  std::optional<uint64_t> limit = SingleNumber(folder + "/memory.max");
  std::optional<uint64_t> used = SingleNumber(folder + "/memory.current");
  if (!limit || !used) return kUnknown;
  uint64_t cache = NumberOf(folder + "/memory.stat", "inactive_file").value_or(0);
  uint64_t firm = *used - std::min(*used, cache);
  return *limit - std::min(*limit, firm);
}

uint64_t RoomInGroups(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) path = line.substr(3);
  }
  uint64_t room = kUnknown;
  while (path.starts_with('/')) {
    room = std::min(room, RoomInGroup(root + "/sys/fs/cgroup" + path));
    path.resize(path.rfind('/'));
  }
  return std::min(room, RoomInGroup(root + "/sys/fs/cgroup"));
}

}  // namespace

uint64_t AvailableMemory(const std::string& root) {
  std::optional<uint64_t> kib = NumberOf(root + "/proc/meminfo", "MemAvailable:");
  return std::min(kib ? *kib << 10 : kUnknown, RoomInGroups(root));
}

FirstToBeKilled::FirstToBeKilled() {
  std::ifstream file(kOomScore);
  std::string before;
  if (!(file >> before)) return;
  std::ofstream out(kOomScore);
  if (out << "1000" << std::flush) before_ = before;
}

FirstToBeKilled::~FirstToBeKilled() {
  if (before_.empty()) return;
  std::ofstream out(kOomScore);
  out << before_ << std::flush;
}

}  // namespace dunlin
