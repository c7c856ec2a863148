#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dunlin::kvctl {

// The small files of a host. Paths are the host's and start with '/'. What can't be read is simply
// not there: sysfs has files that exist and answer with an error. Not thread safe.
class FileTree {
 public:
  virtual ~FileTree() = default;

  virtual bool Exists(const std::string& path) const = 0;
  // Without leading and trailing white space.
  virtual std::optional<std::string> Text(const std::string& path) const = 0;
  // Names in a folder, sorted, numbers by value; empty if there is no such folder.
  virtual std::vector<std::string> Names(const std::string& folder) const = 0;

  std::optional<uint64_t> Number(const std::string& path) const;
  // Every file of a folder that holds one number.
  std::map<std::string, uint64_t> Numbers(const std::string& folder) const;
};

// What lies below a root folder: "/" for this host, else a copy of another's files.
class FolderTree final : public FileTree {
 public:
  explicit FolderTree(std::string root);

  bool Exists(const std::string& path) const override;
  std::optional<std::string> Text(const std::string& path) const override;
  std::vector<std::string> Names(const std::string& folder) const override;

 private:
  std::string root_;
};

// The order of Names.
bool NameBefore(const std::string& a, const std::string& b);

std::string_view Trimmed(std::string_view text);
std::vector<std::string> Lines(std::string_view text);
std::vector<std::string> Words(std::string_view text);
// Decimal, all of it.
std::optional<uint64_t> ParseNumber(std::string_view text);

}  // namespace dunlin::kvctl
