#include "client/kvctl/snapshot_command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace dunlin::kvctl {
namespace {

constexpr char kFormatHelp[] =
    "json: one object a line; lines: key TAB value; debian-index: package stanzas";

}  // namespace

struct SnapshotCommandLine::Rep {
  using Command = decltype(Invocation::command);
  using Finish = std::function<absl::Status(std::optional<Milliseconds> timeout, Command*)>;

  CLI::App* Add(const char* name, const char* help, Finish finish) {
    CLI::App* added = command->add_subcommand(name, help);
    added->footer("");
    finishes[added] = std::move(finish);
    return added;
  }
  void AddChoice(CLI::App* app, const char* name, std::string* target, const Choices& its_choices,
                 const char* help) {
    CLI::Option* option = app->add_option(name, *target, help);
    option->check(CLI::IsMember(its_choices))->capture_default_str();
    (*choices)[option] = its_choices;
  }
  void AddDir(CLI::App* app, bool required) {
    app->add_option("--dir", dir,
                    required ? "The snapshot directory; a server may be writing there"
                             : "The snapshot directory; without it the server's")
        ->required(required);
  }
  void AddId(CLI::App* app, const char* name, const char* help) { app->add_option(name, id, help); }
  void AddProgress(CLI::App* app) {
    AddChoice(app, "--progress", &progress, kProgress, kProgressHelp);
  }
  void AddServerCommands();
  void AddVerify();
  void AddGet();
  void AddExport();
  void AddRestore();

  absl::Status Id(std::optional<uint64_t>* parsed) const {
    if (id.empty()) return absl::OkStatus();
    return ParseInteger<uint64_t>("ID", id, 1, std::numeric_limits<uint64_t>::max(),
                                  &parsed->emplace());
  }
  absl::Status Choice(SnapshotChoice* choice) const {
    choice->dir = dir;
    return Id(&choice->id);
  }

  CLI::App* command = nullptr;
  std::map<const CLI::Option*, Choices>* choices = nullptr;
  std::map<const CLI::App*, Finish> finishes;

  // As written. Each command uses the ones that it has options for.
  std::string dir, id, key, prefix, keys_from;
  std::string path = "-", format = "json", encoding = "text", progress = "auto", batch = "256";
  bool raw = false, sorted = false, if_absent = false, verify = false;
};

void SnapshotCommandLine::Rep::AddServerCommands() {
  Add("create", "Have the server make one, and wait until it is on disk (--timeout, 10m here)",
      [](std::optional<Milliseconds> timeout, Command* made) {
        SnapshotCreateArguments arguments;
        arguments.patience = timeout.value_or(arguments.patience);
        *made = arguments;
        return absl::OkStatus();
      });
  AddDir(Add("list", "What there is, the damaged ones too",
             [this](std::optional<Milliseconds>, Command* made) {
               *made = SnapshotListArguments{dir};
               return absl::OkStatus();
             }),
         /*required=*/false);
  CLI::App* remove = Add("delete", "Delete one that is not the newest usable",
                         [this](std::optional<Milliseconds>, Command* made) {
                           std::optional<uint64_t> parsed;
                           DUNLIN_RETURN_IF_ERROR(Id(&parsed));
                           *made = SnapshotDeleteArguments{dir, parsed.value_or(0)};
                           return absl::OkStatus();
                         });
  remove->add_option("ID", id, "Which")->required();
  remove->add_option("--dir", dir,
                     "The snapshot directory, of which no server is in possession; without it the "
                     "server's");
}

void SnapshotCommandLine::Rep::AddVerify() {
  CLI::App* app = Add("verify", "Read everything, and say what is damaged",
                      [this](std::optional<Milliseconds>, Command* made) {
                        SnapshotVerifyArguments arguments;
                        arguments.dir = dir;
                        DUNLIN_RETURN_IF_ERROR(Id(&arguments.id));
                        arguments.progress = Chosen<ProgressMode>(kProgress, progress);
                        *made = std::move(arguments);
                        return absl::OkStatus();
                      });
  AddDir(app, /*required=*/true);
  AddId(app, "ID", "Which; without it all");
  AddProgress(app);
}

void SnapshotCommandLine::Rep::AddGet() {
  CLI::App* app = Add("get", "Print a value out of a snapshot, its version and its time to live",
                      [this](std::optional<Milliseconds>, Command* made) {
                        SnapshotGetArguments arguments;
                        DUNLIN_RETURN_IF_ERROR(Choice(&arguments.snapshot));
                        arguments.key = {key, Chosen<Encoding>(kEncodings, encoding)};
                        arguments.raw = raw;
                        *made = std::move(arguments);
                        return absl::OkStatus();
                      });
  AddDir(app, /*required=*/true);
  AddId(app, "--id", "Which snapshot; without it the newest that can be used");
  app->add_option("KEY", key, "The key")->required();
  AddChoice(app, "--encoding", &encoding, kEncodings, "Of key and value");
  app->add_flag("--raw", raw, "Print the value's bytes and nothing else");
}

void SnapshotCommandLine::Rep::AddExport() {
  CLI::App* app =
      Add("export", "Write the records of a snapshot to a file, with what is left of their TTLs",
          [this](std::optional<Milliseconds>, Command* made) {
            SnapshotExportArguments arguments;
            DUNLIN_RETURN_IF_ERROR(Choice(&arguments.snapshot));
            arguments.stream = {path, Chosen<Format>(kFormats, format),
                                Chosen<Encoding>(kEncodings, encoding)};
            arguments.prefix = prefix;
            if (!keys_from.empty()) arguments.keys_from = keys_from;
            arguments.sorted = sorted;
            arguments.progress = Chosen<ProgressMode>(kProgress, progress);
            *made = std::move(arguments);
            return absl::OkStatus();
          });
  AddDir(app, /*required=*/true);
  AddId(app, "--id", "Which snapshot; without it the newest that can be used");
  app->add_option("FILE", path, "What to write; - is standard output")->capture_default_str();
  AddChoice(app, "--format", &format, kFormats, kFormatHelp);
  AddChoice(app, "--encoding", &encoding, kEncodings,
            "Of lines: text with the escapes \\t \\n \\r \\0 \\\\ \\xHH, hex or base64");
  AddProgress(app);
  app->add_option("--prefix", prefix, "Only keys that begin with this");
  CLI::Option* keys = app->add_option(
      "--keys-from", keys_from, "Only the keys of this file of the same format, in its order");
  app->add_flag("--sorted", sorted, "By key; keeps all keys in memory to sort them")
      ->excludes(keys);
}

void SnapshotCommandLine::Rep::AddRestore() {
  CLI::App* app =
      Add("restore",
          "Put the records of a snapshot into a running server, with what is left of their TTLs",
          [this](std::optional<Milliseconds>, Command* made) {
            SnapshotRestoreArguments arguments;
            DUNLIN_RETURN_IF_ERROR(Choice(&arguments.snapshot));
            arguments.options.if_absent = if_absent;
            arguments.options.verify = verify;
            arguments.options.progress = Chosen<ProgressMode>(kProgress, progress);
            DUNLIN_RETURN_IF_ERROR(
                ParseInteger<uint32_t>("--batch", batch, 1, 65'536, &arguments.options.batch));
            *made = std::move(arguments);
            return absl::OkStatus();
          });
  app->footer("The records get new versions. To keep versions, start a server on the directory.");
  AddDir(app, /*required=*/true);
  AddId(app, "ID", "Which; without it the newest that can be used");
  CLI::Option* absent =
      app->add_flag("--if-absent", if_absent, "Leave keys alone that have a value");
  app->add_flag("--verify", verify, "Read every record back and compare")->excludes(absent);
  AddProgress(app);
  app->add_option("--batch", batch, "Records in flight at once")->capture_default_str();
}

SnapshotCommandLine::SnapshotCommandLine(CLI::App* command,
                                         std::map<const CLI::Option*, Choices>* choices)
    : rep_(std::make_unique<Rep>()) {
  rep_->command = command;
  rep_->choices = choices;
  command->require_subcommand(1);
  rep_->AddServerCommands();
  rep_->AddVerify();
  rep_->AddGet();
  rep_->AddExport();
  rep_->AddRestore();
}

SnapshotCommandLine::~SnapshotCommandLine() = default;

absl::Status SnapshotCommandLine::Finish(std::optional<Milliseconds> timeout,
                                         Invocation* invocation) const {
  return rep_->finishes.at(rep_->command->get_subcommands().front())(timeout, &invocation->command);
}

}  // namespace dunlin::kvctl
