#pragma once

#include <string>
#include <vector>

namespace dunlin::kvctl {

enum class Level {
  kOk,
  kNotShown,  // this host doesn't say, or has no such thing
  kWarning,   // works, but slower or less safely than it could; or about to matter
  kProblem,   // RDMA fails, or is failing, because of this
};

// Where something was seen, and what: a file and its contents, or a call and its result.
struct Evidence {
  std::string source;  // "/sys/class/infiniband/mlx5_0/ports/1/state", "ibv_open_device(mlx5_0)"
  std::string value;
};

// The answer to one question about one thing.
struct Finding {
  std::string check;    // the question's name, stable for scripts: "port-state"
  std::string subject;  // "mlx5_0 port 1", "this process"
  Level level = Level::kNotShown;
  std::string text;  // one sentence
  std::vector<Evidence> evidence;
  std::string remedy;  // empty if there is nothing to do
};

using Findings = std::vector<Finding>;

inline const char* LevelName(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNotShown:
      return "not shown";
    case Level::kWarning:
      return "warning";
    case Level::kProblem:
      return "problem";
  }
  return "?";
}

}  // namespace dunlin::kvctl
