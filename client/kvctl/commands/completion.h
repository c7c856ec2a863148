#pragma once

#include <string>
#include <vector>

namespace dunlin::kvctl {

// The words of the command line, from which completion scripts are made.
struct CommandWords {
  struct Option {
    std::string name;  // "--format"
    std::string help;
    std::vector<std::string> choices;  // of its value, if there are few
    bool takes_value = false;
  };
  std::string name;  // of a command; empty: what may precede every command
  std::string help;
  std::vector<Option> options;
  std::vector<std::string> arguments;  // choices of its first argument
};

enum class Shell { kBash, kZsh };

// A script for the shell to source. The words must be of printable ASCII; help is free text.
std::string CompletionScript(Shell shell, const std::vector<CommandWords>& commands);

}  // namespace dunlin::kvctl
