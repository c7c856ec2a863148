#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/command_line.h"
#include "client/kvctl/option_values.h"
#include "client/kvctl/snapshot_command_line.h"

namespace dunlin::kvctl {
namespace {

const Choices kShells = {"bash", "zsh"};

constexpr char kFormatsHelp[] =
    "Formats:\n"
    "  json          one object a line: {\"key\":\"k\",\"value\":\"v\",\"ttl_ms\":1000}; ttl_ms "
    "may be\n"
    "                missing; key_hex, key_base64, value_hex and value_base64 hold any bytes\n"
    "  lines         key TAB value, as --encoding says; a time to live has no place in it\n"
    "  debian-index  stanzas as `apt-cache dumpavail` prints them; the key is\n"
    "                name/architecture/version, of a repeated one with #2, #3 ..., the value the "
    "stanza\n";

class Parser {
 public:
  explicit Parser(const std::string& default_server);
  ParsedCommandLine Parse(const std::vector<std::string>& arguments);

 private:
  // The command's own settings are read when parsing is done.
  using Finish = std::function<absl::Status()>;

  CLI::App* AddCommand(const char* name, const char* help, Finish finish);
  CLI::Option* AddChoice(CLI::App* app, const char* name, std::string* target,
                         const Choices& choices, const char* help);
  void AddGlobalOptions();
  void AddServerCommands();
  void AddGetAndDel();
  void AddPutAndCas();
  void AddIncrAndTouch();
  void AddScan();
  void AddImport();
  void AddExport();
  void AddSnapshot();
  void AddWorkload();
  void AddDoctor();
  void AddCompletion();
  void AddKey(CLI::App* command);
  void AddValue(CLI::App* command);
  void AddTtl(CLI::App* command, const char* help);
  void AddStream(CLI::App* command, const char* path_help);

  absl::Status FinishGlobalOptions();
  KeyArguments Key() const;
  absl::Status Value(ValueArguments* value) const;
  absl::Status Ttl(std::optional<Milliseconds>* ttl) const;
  StreamArguments Stream() const;
  absl::Status BatchSize(uint32_t* batch) const;
  std::vector<CommandWords> Words() const;

  CLI::App app_{"Reads, writes and administers a Dunlin server.", "kvctl"};
  std::map<const CLI::App*, Finish> finish_;
  std::map<const CLI::Option*, Choices> choices_;
  Invocation invocation_;
  std::unique_ptr<SnapshotCommandLine> snapshot_;

  // As written. Each command uses the ones that it has options for.
  struct {
    std::string server, timeout = "5s", output = "table";
    std::string key, encoding = "text", value, file, ttl, version, by = "1", initial;
    std::string prefix, cursor = "0", limit = "100", batch = "256";
    std::string keys = "100000", size = "100", reads = "95", time = "5s";
    std::string wait = "5m";
    std::string to, root = "/", over;
    std::string path = "-", format = "json", progress = "auto", keys_from, shell;
    bool raw = false, if_absent = false, if_present = false, values = false;
    bool verify = false, unsorted = false;
  } text_;
};

Parser::Parser(const std::string& default_server) {
  text_.server = default_server;
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.footer(
      absl::StrCat("Keys and values are the arguments' bytes; with --encoding hex or base64, the "
                   "bytes that they\n"
                   "stand for. An argument that begins with '-' goes after \"--\". `-o json` "
                   "prints one object on\n"
                   "standard output, after a failure {\"error\":{\"code\",\"message\",\"exit\"}}; "
                   "64-bit versions are\n"
                   "strings in it, and bytes that are not UTF-8 come as \"value_base64\".\n\n",
                   DescribeExitCodes()));
  app_.set_version_flag("--version", "kvctl " DUNLIN_RELEASE);
  AddGlobalOptions();
  AddServerCommands();
  AddGetAndDel();
  AddPutAndCas();
  AddIncrAndTouch();
  AddScan();
  AddImport();
  AddExport();
  AddSnapshot();
  AddWorkload();
  AddDoctor();
  AddCompletion();
}

CLI::App* Parser::AddCommand(const char* name, const char* help, Finish finish) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->footer("");
  finish_[command] = std::move(finish);
  return command;
}

CLI::Option* Parser::AddChoice(CLI::App* app, const char* name, std::string* target,
                               const Choices& choices, const char* help) {
  CLI::Option* option = app->add_option(name, *target, help);
  option->check(CLI::IsMember(choices))->capture_default_str();
  choices_[option] = choices;
  return option;
}

void Parser::AddGlobalOptions() {
  app_.add_option(
          "--server", text_.server,
          "Where the server is: shm://PATH of its socket, tcp://HOST:PORT or rdma://HOST:PORT; or "
          "several, separated by commas: the first that answers")
      ->envname("DUNLIN_SERVER")
      ->capture_default_str();
  app_.add_option("--timeout", text_.timeout, "Longest wait for the server, as in 500ms")
      ->capture_default_str();
  AddChoice(&app_, "-o,--output", &text_.output, kOutputs, "How to print");
}

void Parser::AddServerCommands() {
  const auto add = [this](const char* name, const char* help, auto arguments) {
    AddCommand(name, help, [this, arguments] {
      invocation_.command = arguments;
      return absl::OkStatus();
    });
  };
  add("ping", "Ask the server for a sign of life", PingArguments());
  add("status", "Memory, items, index load and sessions of the server", StatusArguments());
  CLI::App* sweep = AddCommand("sweep", "Free what is nobody's, then print the status", [this] {
    SweepArguments arguments;
    DUNLIN_RETURN_IF_ERROR(ParseMilliseconds("--wait", text_.wait, &arguments.patience));
    invocation_.command = arguments;
    return absl::OkStatus();
  });
  sweep->add_option("--wait", text_.wait, "Longest wait for two walks of the index")
      ->capture_default_str();
  add("stats", "Counters of the server and its memory by size class", StatsArguments());
  add("metrics", "The server's status in Prometheus' text format", MetricsArguments());
  add("layout", "What lies where in the server's memory", LayoutArguments());
}

void Parser::AddKey(CLI::App* command) {
  command->add_option("KEY", text_.key, "The key")->required();
  AddChoice(command, "--encoding", &text_.encoding, kEncodings, "Of keys and values");
}

void Parser::AddValue(CLI::App* command) {
  CLI::Option* value =
      command->add_option("VALUE", text_.value, "The value; - reads standard input as it is");
  command->add_option("--file", text_.file, "Read the value from this file, as it is")
      ->excludes(value);
}

void Parser::AddTtl(CLI::App* command, const char* help) {
  command->add_option("--ttl", text_.ttl, help);
}

void Parser::AddStream(CLI::App* command, const char* path_help) {
  command->add_option("FILE", text_.path, path_help)->capture_default_str();
  AddChoice(command, "--format", &text_.format, kFormats,
            "json: one object a line; lines: key TAB value; debian-index: package stanzas");
  AddChoice(command, "--encoding", &text_.encoding, kEncodings,
            "Of lines: text with the escapes \\t \\n \\r \\0 \\\\ \\xHH, hex or base64");
  AddChoice(command, "--progress", &text_.progress, kProgress, kProgressHelp);
  command->add_option("--batch", text_.batch, "Records in flight at once")->capture_default_str();
  command->footer(kFormatsHelp);
}

void Parser::AddGetAndDel() {
  CLI::App* get = AddCommand("get", "Print a value, its version and its time to live", [this] {
    invocation_.command = GetArguments{Key(), text_.raw};
    return absl::OkStatus();
  });
  AddKey(get);
  get->add_flag("--raw", text_.raw, "Print the value's bytes and nothing else");

  AddKey(AddCommand("del", "Remove a key", [this] {
    invocation_.command = DelArguments{Key()};
    return absl::OkStatus();
  }));
}

void Parser::AddPutAndCas() {
  CLI::App* put = AddCommand("put", "Put a value", [this] {
    PutArguments arguments;
    arguments.key = Key();
    DUNLIN_RETURN_IF_ERROR(Value(&arguments.value));
    DUNLIN_RETURN_IF_ERROR(Ttl(&arguments.ttl));
    if (text_.if_absent) arguments.mode = PutMode::kIfAbsent;
    if (text_.if_present) arguments.mode = PutMode::kIfPresent;
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddKey(put);
  AddValue(put);
  AddTtl(put, "Time to live, as in 90s; without it the record does not expire");
  CLI::Option* absent = put->add_flag("--if-absent", text_.if_absent, "Only if there is no value");
  put->add_flag("--if-present", text_.if_present, "Only if there is a value")->excludes(absent);

  CLI::App* cas = AddCommand("cas", "Put a value if the key has a certain version", [this] {
    CasArguments arguments;
    arguments.key = Key();
    DUNLIN_RETURN_IF_ERROR(Value(&arguments.value));
    DUNLIN_RETURN_IF_ERROR(Ttl(&arguments.ttl));
    DUNLIN_RETURN_IF_ERROR(ParseInteger<uint64_t>(
        "--version", text_.version, 1, std::numeric_limits<uint64_t>::max(), &arguments.version));
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddKey(cas);
  AddValue(cas);
  cas->add_option("--version", text_.version, "The version that get or put printed")->required();
  AddTtl(cas, "Time to live, as in 90s; without it the record does not expire");
}

void Parser::AddIncrAndTouch() {
  CLI::App* incr = AddCommand("incr", "Add to a value that is a decimal integer", [this] {
    IncrArguments arguments;
    arguments.key = Key();
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    DUNLIN_RETURN_IF_ERROR(ParseInteger("--by", text_.by, kLeast, kMost, &arguments.by));
    if (!text_.initial.empty()) {
      DUNLIN_RETURN_IF_ERROR(
          ParseInteger("--initial", text_.initial, kLeast, kMost, &arguments.initial.emplace()));
    }
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddKey(incr);
  incr->add_option("--by", text_.by, "What to add, may be negative")->capture_default_str();
  incr->add_option("--initial", text_.initial,
                   "Add to this if there is no value; without it that is an error");

  CLI::App* touch = AddCommand("touch", "Set the time to live of a record", [this] {
    TouchArguments arguments;
    arguments.key = Key();
    if (text_.ttl != "none") DUNLIN_RETURN_IF_ERROR(Ttl(&arguments.ttl));
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddKey(touch);
  touch->add_option("--ttl", text_.ttl, "Time to live, as in 90s, or none")->required();
}

void Parser::AddScan() {
  CLI::App* scan = AddCommand("scan", "List keys, in no order", [this] {
    ScanArguments arguments;
    arguments.prefix = text_.prefix;
    arguments.encoding = Chosen<Encoding>(kEncodings, text_.encoding);
    arguments.values = text_.values;
    DUNLIN_RETURN_IF_ERROR(
        ParseInteger<uint32_t>("--limit", text_.limit, 1, 1'000'000, &arguments.limit));
    DUNLIN_RETURN_IF_ERROR(ParseInteger<uint64_t>(
        "--cursor", text_.cursor, 0, std::numeric_limits<uint64_t>::max(), &arguments.cursor));
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  scan->add_option("--prefix", text_.prefix, "Only keys that begin with this");
  scan->add_option("--limit", text_.limit, "Stop after about so many")->capture_default_str();
  scan->add_option("--cursor", text_.cursor, "Go on where an earlier scan stopped");
  scan->add_flag("--values", text_.values, "Values too");
  AddChoice(scan, "--encoding", &text_.encoding, kEncodings, "Of prefix, keys and values");
}

void Parser::AddImport() {
  CLI::App* import = AddCommand("import", "Put every record of a file", [this] {
    ImportArguments arguments;
    arguments.stream = Stream();
    DUNLIN_RETURN_IF_ERROR(Ttl(&arguments.ttl));
    DUNLIN_RETURN_IF_ERROR(BatchSize(&arguments.batch));
    arguments.if_absent = text_.if_absent;
    arguments.verify = text_.verify;
    arguments.progress = Chosen<ProgressMode>(kProgress, text_.progress);
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddStream(import, "What to read; - is standard input");
  AddTtl(import, "Time to live of records that say none");
  CLI::Option* absent =
      import->add_flag("--if-absent", text_.if_absent, "Leave keys alone that have a value");
  import->add_flag("--verify", text_.verify, "Read every record back and compare")
      ->excludes(absent);
}

void Parser::AddExport() {
  CLI::App* command = AddCommand("export", "Write all records to a file", [this] {
    ExportArguments arguments;
    arguments.stream = Stream();
    arguments.prefix = text_.prefix;
    if (!text_.keys_from.empty()) arguments.keys_from = text_.keys_from;
    arguments.unsorted = text_.unsorted;
    arguments.progress = Chosen<ProgressMode>(kProgress, text_.progress);
    DUNLIN_RETURN_IF_ERROR(BatchSize(&arguments.batch));
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  AddStream(command, "What to write; - is standard output");
  command->add_option("--prefix", text_.prefix, "Only keys that begin with this");
  CLI::Option* keys =
      command->add_option("--keys-from", text_.keys_from,
                          "Only the keys of this file of the same format, in its order");
  command
      ->add_flag("--unsorted", text_.unsorted,
                 "As they come, without keeping all keys in memory to sort them")
      ->excludes(keys);
}

void Parser::AddSnapshot() {
  CLI::App* command = AddCommand("snapshot", "Make, look at and use snapshots", [this] {
    // A snapshot takes longer than what else a server does.
    const bool patient = app_.count("--timeout") == 0;
    return snapshot_->Finish(patient ? std::nullopt : std::optional(invocation_.timeout),
                             &invocation_);
  });
  snapshot_ = std::make_unique<SnapshotCommandLine>(command, &choices_);
}

void Parser::AddWorkload() {
  CLI::App* workload =
      AddCommand("workload", "Try the server out with random reads and writes", [this] {
        WorkloadArguments arguments;
        DUNLIN_RETURN_IF_ERROR(
            ParseInteger<uint64_t>("--keys", text_.keys, 1, 100'000'000, &arguments.keys));
        DUNLIN_RETURN_IF_ERROR(
            ParseInteger<uint32_t>("--size", text_.size, 0, 1u << 20, &arguments.value_bytes));
        DUNLIN_RETURN_IF_ERROR(
            ParseInteger<uint32_t>("--reads", text_.reads, 0, 100, &arguments.reads));
        DUNLIN_RETURN_IF_ERROR(ParseMilliseconds("--time", text_.time, &arguments.time));
        arguments.progress = Chosen<ProgressMode>(kProgress, text_.progress);
        invocation_.command = arguments;
        return absl::OkStatus();
      });
  workload->add_option("--keys", text_.keys, "Keys of its own; they are removed at the end")
      ->capture_default_str();
  workload->add_option("--size", text_.size, "Bytes of a value")->capture_default_str();
  workload->add_option("--reads", text_.reads, "Percent of reads; the rest are puts")
      ->capture_default_str();
  workload->add_option("--time", text_.time, "How long, as in 5s")->capture_default_str();
  AddChoice(workload, "--progress", &text_.progress, kProgress, kProgressHelp);
}

void Parser::AddDoctor() {
  CLI::App* doctor = AddCommand("doctor", "Look for what makes RDMA fail on this host", [this] {
    DoctorArguments arguments;
    arguments.to = text_.to;
    arguments.root = text_.root;
    arguments.timeout = invocation_.timeout;
    if (!text_.over.empty()) {
      DUNLIN_RETURN_IF_ERROR(ParseMilliseconds("--over", text_.over, &arguments.over));
    }
    invocation_.command = std::move(arguments);
    return absl::OkStatus();
  });
  doctor->add_option("--to", text_.to,
                     "Also measure the path to this server: shm://PATH, tcp://HOST:PORT or "
                     "rdma://HOST:PORT. Puts keys of its own and removes them");
  doctor->add_option("--over", text_.over,
                     "Look twice, so far apart, as in 10s, and tell which counters rise");
  doctor
      ->add_option("--root", text_.root,
                   "Read the files below this folder, as of a copy of another host's /sys and "
                   "/proc; what takes system calls is then not shown")
      ->capture_default_str();
}

void Parser::AddCompletion() {
  CLI::App* completion = AddCommand("completion", "Print a completion script for a shell", [this] {
    const Shell shell = text_.shell == "bash" ? Shell::kBash : Shell::kZsh;
    invocation_.command = TextArguments{CompletionScript(shell, Words())};
    return absl::OkStatus();
  });
  AddChoice(completion, "SHELL", &text_.shell, kShells, "Which shell")->required();
}

absl::Status Parser::FinishGlobalOptions() {
  invocation_.server = text_.server;
  invocation_.output = Chosen<OutputFormat>(kOutputs, text_.output);
  return ParseMilliseconds("--timeout", text_.timeout, &invocation_.timeout);
}

KeyArguments Parser::Key() const {
  return {text_.key, Chosen<Encoding>(kEncodings, text_.encoding)};
}

absl::Status Parser::Value(ValueArguments* value) const {
  const CLI::App* command = app_.get_subcommands().front();
  if (command->count("--file") > 0) {
    value->file = text_.file;
    return absl::OkStatus();
  }
  if (command->count("VALUE") == 0) {
    return absl::InvalidArgumentError("expected a VALUE (- for standard input) or --file");
  }
  value->argument = text_.value;
  return absl::OkStatus();
}

absl::Status Parser::Ttl(std::optional<Milliseconds>* ttl) const {
  if (app_.get_subcommands().front()->count("--ttl") == 0) return absl::OkStatus();
  return ParseMilliseconds("--ttl", text_.ttl, &ttl->emplace());
}

StreamArguments Parser::Stream() const {
  return {text_.path, Chosen<Format>(kFormats, text_.format),
          Chosen<Encoding>(kEncodings, text_.encoding)};
}

absl::Status Parser::BatchSize(uint32_t* batch) const {
  return ParseInteger<uint32_t>("--batch", text_.batch, 1, 65'536, batch);
}

std::vector<CommandWords> Parser::Words() const {
  const auto add_options = [this](const CLI::App* app, CommandWords& words) {
    for (const CLI::Option* option : app->get_options()) {
      const auto choices = choices_.find(option);
      const bool has_choices = choices != choices_.end();
      if (option->get_lnames().empty()) {
        if (has_choices) words.arguments = choices->second;
        continue;
      }
      const bool takes_value = option->get_items_expected_max() > 0;
      const CommandWords::Option spelled = {"--" + option->get_lnames().front(),
                                            option->get_description(),
                                            has_choices ? choices->second : Choices(), takes_value};
      words.options.push_back(spelled);
      if (!takes_value) continue;
      for (const std::string& letter : option->get_snames()) {
        words.options.push_back(spelled);
        words.options.back().name = "-" + letter;
      }
    }
  };
  const auto words_of = [&](const CLI::App* app, std::string name) {
    CommandWords words{std::move(name), app->get_description(), {}, {}};
    add_options(app, words);
    if (words.name.empty()) return words;
    // Of a command with commands of its own: these, and each option that one of them has.
    std::map<std::string, CommandWords::Option> inner_options;
    for (const CLI::App* inner : app->get_subcommands([](const CLI::App*) { return true; })) {
      words.arguments.push_back(inner->get_name());
      CommandWords inner_words;
      add_options(inner, inner_words);
      for (CommandWords::Option& option : inner_words.options) {
        inner_options.try_emplace(option.name, std::move(option));
      }
    }
    for (const CommandWords::Option& own : words.options) inner_options.erase(own.name);
    for (auto& [name, option] : inner_options) words.options.push_back(std::move(option));
    return words;
  };
  std::vector<CommandWords> words = {words_of(&app_, "")};
  for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(words_of(command, command->get_name()));
  }
  return words;
}

ParsedCommandLine Parser::Parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    app_.parse(std::move(reversed));
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream out;
    app_.exit(success, out, out);
    invocation_.command = TextArguments{out.str()};
    return {invocation_, absl::OkStatus()};
  } catch (const CLI::ParseError& error) {
    const bool json = std::find(arguments.begin(), arguments.end(), "json") != arguments.end();
    if (text_.output == "json" || json) invocation_.output = OutputFormat::kJson;
    return {invocation_,
            absl::InvalidArgumentError(absl::StrCat(error.what(), "; see kvctl --help"))};
  }
  absl::Status status = FinishGlobalOptions();
  if (status.ok()) status = finish_.at(app_.get_subcommands().front())();
  return {invocation_, status};
}

}  // namespace

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments,
                                   const std::string& default_server) {
  return Parser(default_server).Parse(arguments);
}

}  // namespace dunlin::kvctl
