#include "tests/linearizability/fleet.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace dunlin::testing {
namespace {

constexpr int64_t kEndNanos = 60'000'000'000;
constexpr size_t kViolationsKept = 5;

int64_t Now() { return SystemClock().NowNanos(); }

}  // namespace

std::string FleetFigures::Text() const {
  const auto number = [](uint64_t n) { return std::to_string(n); };
  return number(operations) + " operations of " + number(clients) + " clients in " +
         number(rounds) + " rounds, " + number(histories) + " histories, " + number(kills) +
         " kills, " + number(stops) + " stops, " + number(cuts) + " cuts, " +
         number(ended_by_server) + " ended by the server, " + number(unanswered) + " unanswered, " +
         number(unknown) + " unknown outcomes, " + number(errors) + " without effect, " +
         number(waits) + " waits across a death, the longest " +
         number(static_cast<uint64_t>(longest_wait_nanos) / 1'000'000) + " ms, " +
         number(configurations) + " configurations, " + number(violations.size()) +
         " violations, " + number(undecided.size()) + " undecided";
}

absl::Status Fleet::Begin() {
  WorkloadPlan plan;
  plan.seed = random_.Next();
  plan.client = ++numbers_;
  plan.prefix = prefix_;
  plan.hot_keys = plan_.hot_keys;
  plan.spread_keys = plan_.spread_keys;
  plan.largest_value = plan_.largest_value;
  plan.stale = begun_ < plan_.stale_clients;
  DUNLIN_ASSIGN_OR_RETURN(auto client, ClientProcess::Start(plan_.binary, plan_.target,
                                                            plan_.folder, plan_.recorded, plan));
  active_.push_back(std::move(client));
  ++begun_;
  ++figures_.clients;
  return absl::OkStatus();
}

void Fleet::Await(int64_t until) const {
  std::vector<pollfd> waited;
  for (const auto& client : active_) waited.push_back({client->pidfd(), POLLIN, 0});
  const int64_t left = std::max<int64_t>(0, until - Now());
  const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
  ppoll(waited.data(), waited.size(), &timeout, nullptr);
}

absl::Status Fleet::ReplaceEnded() {
  for (size_t i = 0; i < active_.size();) {
    pollfd gone{active_[i]->pidfd(), POLLIN, 0};
    if (active_[i]->running() && poll(&gone, 1, 0) <= 0) {
      ++i;
      continue;
    }
    ClientProcess& client = *active_[i];
    if (client.running()) {
      const bool stopped = client.was_stopped();
      const int code = client.Reap();
      if (code == -SIGKILL && stopped) {
        ++figures_.ended_by_server;
      } else if (code != 0) {
        return absl::InternalError("a client ended by itself with " + std::to_string(code));
      }
    }
    continue_at_.erase(client.number());
    EndStop(client.number());
    ended_.push_back(std::move(active_[i]));
    active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
    if (begun_ < plan_.clients_of_a_round) DUNLIN_RETURN_IF_ERROR(Begin());
  }
  return absl::OkStatus();
}

void Fleet::Disturb(int64_t now) {
  if (active_.empty()) return;
  if (plan_.cut && random_.OneIn(2)) {
    constexpr uint64_t kSoon = 20'000;
    plan_.cut(random_.Below(kSoon));
    ++figures_.cuts;
    return;
  }
  ClientProcess& client = *active_[random_.Below(active_.size())];
  if (client.stopped() || random_.Below(4) != 0) {
    client.Kill();
    deaths_.push_back(Now());
    ++figures_.kills;
    return;
  }
  client.Stop();
  ++figures_.stops;
  stops_.push_back({client.number(), now, linearizability::kNever});
  continue_at_[client.number()] =
      now + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(plan_.longest_stop_nanos)));
}

void Fleet::EndStop(uint32_t client) {
  for (Stop& stop : stops_) {
    if (stop.client == client) stop.until = std::min(stop.until, Now());
  }
}

void Fleet::ContinueStopped(int64_t now) {
  for (auto& client : active_) {
    const auto at = continue_at_.find(client->number());
    if (at == continue_at_.end() || at->second > now) continue;
    client->Continue();
    EndStop(client->number());
    continue_at_.erase(at);
  }
}

absl::Status Fleet::RunRound() {
  prefix_ = "round-" + std::to_string(++figures_.rounds) + "-";
  begun_ = 0;
  deaths_.clear();
  stops_.clear();
  ended_.clear();
  for (uint32_t i = 0; i < plan_.clients; ++i) DUNLIN_RETURN_IF_ERROR(Begin());
  const int64_t end = Now() + plan_.round_nanos;
  const auto next_fault = [&](int64_t now) {
    if (plan_.fault_nanos == 0) return linearizability::kNever;
    return now + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(2 * plan_.fault_nanos)));
  };
  int64_t fault_at = next_fault(Now());
  for (int64_t now = Now(); now < end && !active_.empty(); now = Now()) {
    int64_t until = std::min(end, fault_at);
    for (const auto& [number, at] : continue_at_) until = std::min(until, at);
    Await(until);
    now = Now();
    ContinueStopped(now);
    if (now >= fault_at) {
      Disturb(now);
      fault_at = next_fault(now);
    }
    DUNLIN_RETURN_IF_ERROR(ReplaceEnded());
  }
  DUNLIN_RETURN_IF_ERROR(EndAll());
  Collect();
  MeasureWaits();
  return absl::OkStatus();
}

absl::Status Fleet::EndAll() {
  begun_ = plan_.clients_of_a_round;
  for (auto& client : active_) {
    client->AskToEnd();
    client->Continue();
    EndStop(client->number());
  }
  const int64_t give_up = Now() + kEndNanos;
  while (!active_.empty()) {
    Await(give_up);
    DUNLIN_RETURN_IF_ERROR(ReplaceEnded());
    if (!active_.empty() && Now() > give_up) {
      return absl::DeadlineExceededError("a client hangs: it was told to end and didn't");
    }
  }
  return absl::OkStatus();
}

void Fleet::ReportForbidden(ClientProcess& client) {
  if (client.header().forbidden == 0 || figures_.violations.size() >= kViolationsKept) return;
  figures_.violations.push_back("a client was told what none may be told: " +
                                std::string(client.header().message));
}

void Fleet::Collect() {
  histories_.clear();
  clock_error_ = 0;
  for (auto& client : ended_) {
    clock_error_ = std::max(clock_error_, client->header().clock_error);
    client->recording().AppendTo(&histories_);
    figures_.unknown += client->header().unknown;
    figures_.errors += client->header().errors;
    ReportForbidden(*client);
  }
  for (const auto& [key, history] : histories_) {
    figures_.operations += history.size();
    for (const auto& operation : history) {
      figures_.unanswered += operation.responded == linearizability::kNever;
    }
  }
}

// Who waits for the lock of a stopped client waits for as long as it is stopped.
bool Fleet::OverlapsAStop(const linearizability::Operation& operation) const {
  return std::any_of(stops_.begin(), stops_.end(), [&](const Stop& stop) {
    return stop.from <= operation.responded && operation.invoked <= stop.until;
  });
}

void Fleet::MeasureWaits() {
  std::sort(deaths_.begin(), deaths_.end());
  for (const auto& client : ended_) {
    for (const Entry& entry : client->recording().entries()) {
      const auto& operation = entry.operation;
      if (entry.waited == 0 || operation.responded == linearizability::kNever) continue;
      const auto death = std::lower_bound(deaths_.begin(), deaths_.end(), operation.invoked);
      if (death == deaths_.end() || *death > operation.responded) continue;
      if (OverlapsAStop(operation)) continue;
      ++figures_.waits;
      figures_.longest_wait_nanos =
          std::max(figures_.longest_wait_nanos, operation.responded - *death - entry.unscheduled);
    }
  }
}

void Fleet::CheckRound(int64_t expiry_tolerance) {
  // Who wrote a time to live and who judges it may both be off.
  expiry_tolerance += 2 * clock_error_;
  for (const auto& [key, history] : histories_) {
    const linearizability::Report report =
        linearizability::Check(history, {.expiry_tolerance = expiry_tolerance,
                                         .records_may_vanish = plan_.records_may_vanish,
                                         .max_configurations = plan_.max_configurations});
    ++figures_.histories;
    figures_.configurations += report.configurations;
    if (report.verdict == linearizability::Verdict::kLinearizable) continue;
    auto& list = report.verdict == linearizability::Verdict::kViolation ? figures_.violations
                                                                        : figures_.undecided;
    if (list.size() < kViolationsKept) {
      list.push_back("key " + prefix_ + std::to_string(key) + ": " + report.explanation);
    }
  }
}

}  // namespace dunlin::testing
