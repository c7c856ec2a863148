#include "tests/simulator/clients.h"

#include <utility>

#include "common/base/check.h"
#include "tests/simulator/connection.h"
#include "tests/simulator/contents.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kRestart = 50 * kMillisecond;
constexpr int64_t kRefusal = 2 * kMillisecond;

}  // namespace

Clients::Clients(World* world, const Faults* faults, History* history, Accept accept)
    : world_(*world), faults_(*faults), accept_(std::move(accept)) {
  shared_.world = world;
  shared_.faults = faults;
  shared_.history = history;
  shared_.operations_left = faults_.operations;
  shared_.connect = [this](Process* process, Deadline deadline) {
    return Connect(process, deadline);
  };
  for (uint32_t key = 0; key < faults_.keys + kIntegerKeys; ++key) {
    shared_.key_numbers[KeyName(key)] = key;
  }
}

// A run that found itself stuck ends with its clients in the midst of their calls.
Clients::~Clients() {
  shared_.operations_left = 0;
  for (auto& client : clients_) client->process->Kill();
  while (!ended() && world_.Step()) {
  }
}

void Clients::Start() {
  for (uint32_t slot = 0; slot < faults_.clients; ++slot) {
    clients_.push_back(nullptr);
    Launch(slot, false);
  }
}

void Clients::StartReader() {
  clients_.push_back(nullptr);
  Launch(clients_.size() - 1, true);
}

void Clients::Launch(size_t slot, bool reader) {
  if (clients_[slot] != nullptr) gone_.push_back(std::move(clients_[slot]));
  clients_[slot] = std::make_unique<Client>();
  Client& client = *clients_[slot];
  client.process = std::make_unique<Process>(&world_, &faults_, next_process_++);
  client.load = std::make_unique<Load>(&shared_, client.process.get());
  client.process->WhenKilled([&client] {
    for (const auto& weak : client.links) {
      if (auto link = weak.lock()) link->KillClient();
    }
  });
  client.process->Start([&client, reader] {
    if (reader) {
      client.load->ReadAll();
    } else {
      client.load->Run();
    }
  });
}

bool Clients::ended() const {
  if (restarts_pending_ != 0) return false;
  for (const auto& client : clients_) {
    if (!client->process->ended()) return false;
  }
  return true;
}

Clients::Client* Clients::ClientOf(const Process* process) {
  for (auto& client : clients_) {
    if (client->process.get() == process) return client.get();
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<RemoteConnection>> Clients::Connect(Process* process,
                                                                   Deadline deadline) {
  process->Block(world_.now() + kMicrosecond + 2 * faults_.latency);
  Client* const client = ClientOf(process);
  if (process->dead() || client == nullptr) return absl::UnavailableError("dead");
  std::shared_ptr<Link> link = accept_(process, next_link_);
  if (link == nullptr) {
    // Refused by the host, or nobody answers at all.
    const bool refused = world_.random().OneIn(2);
    const int64_t left = deadline.NanosLeft();
    process->Block(world_.now() + (refused ? std::min(left, kRefusal) : left));
    return refused ? absl::UnavailableError("nobody listens")
                   : absl::DeadlineExceededError("no answer");
  }
  ++next_link_;
  ++counts_.connections;
  world_.Note(Happening::kConnect, process->number(), link->number());
  client->links.push_back(link);
  auto connection = std::make_unique<SimulatedConnection>(link, process);
  process->Block(world_.now() + link->Latency());
  return connection;
}

void Clients::KillOne() {
  const size_t slot = world_.random().Below(clients_.size());
  Client& client = *clients_[slot];
  if (client.process->ended() || client.process->dead()) return;
  ++counts_.kills;
  world_.Note(Happening::kKill, client.process->number());
  client.process->Kill();
  ++restarts_pending_;
  world_.After(1 + static_cast<int64_t>(world_.random().Below(kRestart)), [this, slot] {
    --restarts_pending_;
    clients_[slot]->load.reset();
    clients_[slot]->process->Reap();
    if (shared_.operations_left != 0) Launch(slot, false);
  });
}

void Clients::StopOne() {
  Client& client = Some();
  if (client.process->ended()) return;
  ++counts_.stops;
  const auto time =
      1 + static_cast<int64_t>(world_.random().Below(static_cast<uint64_t>(faults_.longest_stop)));
  world_.Note(Happening::kStop, client.process->number(), static_cast<uint64_t>(time));
  client.process->Stop(world_.now() + time);
}

void Clients::JumpOne() {
  Client& client = Some();
  ++counts_.jumps;
  const auto time =
      1 + static_cast<int64_t>(world_.random().Below(static_cast<uint64_t>(faults_.longest_jump)));
  world_.Note(Happening::kJump, client.process->number(), static_cast<uint64_t>(time));
  client.process->Jump(time);
}

void Clients::CutOne() {
  Client& client = Some();
  std::erase_if(client.links, [](const auto& weak) { return weak.expired(); });
  if (client.links.empty()) return;
  auto link = client.links.back().lock();
  if (link == nullptr || link->cut()) return;
  ++counts_.cuts;
  link->Cut(world_.random().Below(100) < faults_.silent_percent);
}

void Clients::ReportLoss() {
  Client& client = Some();
  if (client.load == nullptr) return;
  world_.Note(Happening::kLossReport, client.process->number());
  client.load->health()->CountLoss();
}

}  // namespace dunlin::simulator
