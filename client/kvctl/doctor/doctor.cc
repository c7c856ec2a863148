#include "client/kvctl/doctor/doctor.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/checks.h"
#include "client/kvctl/doctor/host_facts.h"
#include "client/kvctl/doctor/print_findings.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

std::string MessageOf(const absl::Status& status) {
  return std::string(FromAbsl(status.message()));
}

Finding Unreached(const std::string& target, const absl::Status& status) {
  return {"path",
          target,
          Level::kProblem,
          "the server was not reached, so nothing was measured",
          {{"connect", MessageOf(status)}},
          "is it running, and does it listen on this fabric? kvctl --server TARGET ping. Over RDMA "
          "also: "
          "compare the finding \"mtu\" on both ends"};
}

void AddStoreFindings(const PathReport& path, Findings* findings) {
  const StorePathResult& store = path.store;
  if (store.store.ok()) {
    findings->push_back({"path", path.target, Level::kOk, "reached, measured below", {}, ""});
  } else {
    findings->push_back({"path",
                         path.target,
                         Level::kWarning,
                         "reached, but gets and puts were not all measured",
                         {{"session", MessageOf(store.store)}},
                         "measuring puts a few keys of its own: it needs a session that may write, "
                         "and some free memory"});
  }
  if (store.cleanup.ok()) return;
  findings->push_back({"path-cleanup",
                       path.target,
                       Level::kWarning,
                       "the doctor's own keys may still be there; they expire within 10 minutes",
                       {{"session", MessageOf(store.cleanup)}},
                       ""});
}

// A packet that is larger than what a switch or the other end takes is dropped without a word.
void AddPathMtu(const PathReport& path, Findings* findings) {
  if (!path.raw.ok() || path.target.starts_with("shm:")) return;
  Finding finding{"path-mtu", path.target, Level::kOk, "", {}, ""};
  if (path.raw->large.ok()) {
    finding.text = "packets of full size get through in both directions";
    finding.evidence.push_back({"WRITE and READ of 1 MiB", "done"});
  } else {
    finding.level = Level::kProblem;
    finding.text =
        "small verbs get through, but large ones don't: the other end, or a switch "
        "between, takes smaller packets than this end sends";
    finding.evidence.push_back({"WRITE and READ of 1 MiB", MessageOf(path.raw->large)});
    finding.remedy = "compare the finding \"mtu\" on both ends, and the MTU of the switches' ports";
  }
  findings->push_back(std::move(finding));
}

absl::StatusOr<PathReport> MeasurePath(Context& context, const DoctorArguments& arguments,
                                       const DoctorTools& tools) {
  ClientOptions options;
  options.name = "kvctl doctor";
  options.connect_deadline = arguments.timeout;
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                          tools.connect(arguments.to, options));
  PathReport path;
  path.target = client->target();
  DUNLIN_ASSIGN_OR_RETURN(path.store, MeasureStore(*client, arguments.timeout, *context.clock));
  path.raw = tools.raw == nullptr
                 ? absl::UnimplementedError("not measured on this fabric")
                 : tools.raw->Measure(path.target, arguments.timeout, *context.clock);
  return path;
}

absl::Status CheckArguments(const DoctorArguments& arguments) {
  if (FolderTree(arguments.root).Exists("/")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--root is \"", arguments.root, "\", expected a folder that can be read"));
}

// Measures, and says in findings how that went. An error: the target can't be meant.
absl::Status DiagnosePath(Context& context, const DoctorArguments& arguments,
                          const DoctorTools& tools, Diagnosis* diagnosis) {
  absl::StatusOr<PathReport> path = MeasurePath(context, arguments, tools);
  if (path.ok()) {
    AddStoreFindings(*path, &diagnosis->findings);
    AddPathMtu(*path, &diagnosis->findings);
    diagnosis->path = *std::move(path);
    return absl::OkStatus();
  }
  if (path.status().code() == absl::StatusCode::kInvalidArgument) return path.status();
  diagnosis->findings.push_back(Unreached(arguments.to, path.status()));
  return absl::OkStatus();
}

}  // namespace

ExitCode RunDoctor(Context& context, const DoctorArguments& arguments, const DoctorTools& tools) {
  if (absl::Status status = CheckArguments(arguments); !status.ok()) return Fail(context, status);
  const FolderTree tree(arguments.root);
  // Calls speak of the running host, whose files another root doesn't hold.
  HostCalls* const calls = arguments.root == "/" ? tools.calls : nullptr;
  const auto look = [&] { return ReadHostFacts(tree, calls); };

  Diagnosis diagnosis;
  std::optional<HostFacts> before;
  if (!arguments.to.empty() || arguments.over.count() > 0) before = look();
  if (!arguments.to.empty()) {
    absl::Status status = DiagnosePath(context, arguments, tools, &diagnosis);
    if (!status.ok()) return Fail(context, status);
  }
  if (arguments.over.count() > 0) tools.wait(arguments.over);
  Findings of_host = CheckHost(look(), before ? &*before : nullptr);
  diagnosis.findings.insert(diagnosis.findings.begin(), std::make_move_iterator(of_host.begin()),
                            std::make_move_iterator(of_host.end()));

  const ExitCode printed = context.output == OutputFormat::kJson
                               ? Print(context, DiagnosisReport(diagnosis))
                               : PrintBytes(context, DiagnosisText(diagnosis));
  if (printed != ExitCode::kOk) return printed;
  return diagnosis.Count(Level::kProblem) == 0 ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace dunlin::kvctl
