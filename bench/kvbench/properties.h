#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin::kvbench {

// Settings by name, as YCSB keeps them: Java's property files, and -p on the command line.
class Properties {
 public:
  // Adds what the text of a .properties file says; later settings replace earlier ones. `name` is
  // the file's, for messages. Errors: InvalidArgument (a malformed \uXXXX).
  absl::Status AddText(std::string_view text, std::string_view name);
  // NotFound and the like name the file.
  absl::Status AddFile(const std::string& path);
  void Set(std::string_view name, std::string_view value);

  bool Has(std::string_view name) const;
  std::string Get(std::string_view name, std::string_view otherwise) const;
  // InvalidArgument says the name, what was found, and what is expected. Numbers may end in no
  // unit.
  absl::StatusOr<int64_t> GetInt(std::string_view name, int64_t otherwise) const;
  absl::StatusOr<double> GetDouble(std::string_view name, double otherwise) const;
  absl::StatusOr<bool> GetBool(std::string_view name, bool otherwise) const;

  const std::map<std::string, std::string, std::less<>>& all() const { return all_; }

 private:
  std::map<std::string, std::string, std::less<>> all_;
};

}  // namespace dunlin::kvbench
