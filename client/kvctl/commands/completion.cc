#include "client/kvctl/commands/completion.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dunlin::kvctl {
namespace {

// Both scripts work alike: find the command among the words before the cursor, passing over the
// values of global options; then complete the value of an option, or an option or argument.
constexpr char kBash[] = R"(# bash completion for kvctl; load with: source <(kvctl completion bash)
_kvctl() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local command="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${COMP_WORDS[i]}" in
$0      $1) command="${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$command:$previous" in
$2  esac
  case "$command" in
$3  esac
}
complete -o default -F _kvctl kvctl
)";

constexpr char kZsh[] = R"(#compdef kvctl
# zsh completion for kvctl; load with: source <(kvctl completion zsh)
_kvctl() {
  local previous="${words[CURRENT-1]}" command="" i
  for ((i = 2; i < CURRENT; ++i)); do
    case "${words[i]}" in
$0      $1) command="${words[i]}"; break ;;
    esac
  done
  case "$command:$previous" in
$2  esac
  case "$command" in
$3  esac
}
if [ "$funcstack[1]" = "_kvctl" ]; then
  _kvctl "$@"
else
  compdef _kvctl kvctl
fi
)";

// For single quotes, and for zsh's "name:help".
std::string QuoteHelp(std::string_view help) {
  std::string out;
  for (const char c : help) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '\n') {
      out.push_back(' ');
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string Offer(Shell shell, const std::vector<std::string>& words) {
  const std::string joined = absl::StrJoin(words, " ");
  return shell == Shell::kBash
             ? absl::StrCat("COMPREPLY=($(compgen -W \"", joined, "\" -- \"$current\"))")
             : absl::StrCat("compadd -- ", joined);
}

std::vector<std::string> OptionNames(const CommandWords& command) {
  std::vector<std::string> names;
  for (const CommandWords::Option& option : command.options) names.push_back(option.name);
  return names;
}

// Global options with a value, whose value is no command.
std::string SkipLine(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) {
    if (!command.name.empty()) continue;
    for (const CommandWords::Option& option : command.options) {
      if (option.takes_value) names.push_back(option.name);
    }
  }
  if (names.empty()) return "";
  return absl::StrCat("      ", absl::StrJoin(names, "|"), ") ((++i)) ;;\n");
}

std::string ValueCases(Shell shell, const std::vector<CommandWords>& commands) {
  std::string out;
  for (const CommandWords& command : commands) {
    for (const CommandWords::Option& option : command.options) {
      if (!option.takes_value) continue;
      // A global option may also follow the command.
      const std::string pattern =
          absl::StrCat(command.name.empty() ? "*" : command.name, ":", option.name);
      absl::StrAppend(&out, "    ", pattern, ") ");
      if (!option.choices.empty()) {
        absl::StrAppend(&out, Offer(shell, option.choices), "; ");
      } else if (shell == Shell::kZsh) {
        out += "_files; ";
      }
      out += "return ;;\n";
    }
  }
  return out;
}

std::string WordCases(Shell shell, const std::vector<CommandWords>& commands) {
  std::vector<std::string> first_words;
  std::string described;
  for (const CommandWords& command : commands) {
    if (command.name.empty()) continue;
    first_words.push_back(command.name);
    absl::StrAppend(&described, " '", command.name, ":", QuoteHelp(command.help), "'");
  }
  std::string out;
  for (const CommandWords& command : commands) {
    std::vector<std::string> words = command.arguments;
    const std::vector<std::string> options = OptionNames(command);
    words.insert(words.end(), options.begin(), options.end());
    if (command.name.empty() && shell == Shell::kZsh) {
      absl::StrAppend(&out, "    \"\") local -a commands=(", described,
                      "); _describe command commands; ", Offer(shell, words), " ;;\n");
      continue;
    }
    if (command.name.empty()) words.insert(words.begin(), first_words.begin(), first_words.end());
    absl::StrAppend(&out, "    ", command.name.empty() ? "\"\"" : command.name, ") ",
                    Offer(shell, words));
    if (shell == Shell::kZsh) out += "; _files";
    out += " ;;\n";
  }
  return out;
}

std::string CommandPattern(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  return absl::StrJoin(names, "|");
}

}  // namespace

std::string CompletionScript(Shell shell, const std::vector<CommandWords>& commands) {
  const std::string parts[] = {SkipLine(commands), CommandPattern(commands),
                               ValueCases(shell, commands), WordCases(shell, commands)};
  std::string out;
  std::string_view rest = shell == Shell::kBash ? kBash : kZsh;
  // "$0" to "$3" stand for the parts. Not absl::Substitute: other dollars are the shell's.
  while (!rest.empty()) {
    if (rest.size() >= 2 && rest[0] == '$' && rest[1] >= '0' && rest[1] <= '3') {
      out += parts[rest[1] - '0'];
      rest.remove_prefix(2);
    } else {
      out.push_back(rest[0]);
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace dunlin::kvctl
