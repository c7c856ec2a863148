#include "client/kvctl/doctor/file_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/read_file.h"

namespace dunlin::kvctl {
namespace {

constexpr size_t kLargestFile = 1 << 20;
constexpr std::string_view kWhite = " \t\r\n";

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<std::string> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find_first_of(separators);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) parts.emplace_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace

FolderTree::FolderTree(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

bool FolderTree::Exists(const std::string& path) const {
  return ::access((root_ + path).c_str(), F_OK) == 0;
}

std::optional<std::string> FolderTree::Text(const std::string& path) const {
  const absl::StatusOr<std::string> contents = ReadWholeFile(root_ + path, kLargestFile);
  if (!contents.ok()) return std::nullopt;
  return std::string(Trimmed(*contents));
}

std::optional<uint64_t> FileTree::Number(const std::string& path) const {
  const std::optional<std::string> text = Text(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

std::vector<std::string> FolderTree::Names(const std::string& folder) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir((root_ + folder).c_str()));
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), NameBefore);
  return names;
}

std::map<std::string, uint64_t> FileTree::Numbers(const std::string& folder) const {
  std::map<std::string, uint64_t> numbers;
  for (const std::string& name : Names(folder)) {
    if (const std::optional<uint64_t> value = Number(folder + "/" + name)) numbers[name] = *value;
  }
  return numbers;
}

bool NameBefore(const std::string& a, const std::string& b) {
  const std::optional<uint64_t> x = ParseNumber(a), y = ParseNumber(b);
  return x && y ? *x < *y : a < b;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhite);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhite) - begin + 1);
}

std::vector<std::string> Lines(std::string_view text) { return Split(text, "\n"); }
std::vector<std::string> Words(std::string_view text) { return Split(text, kWhite); }

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace dunlin::kvctl
