#include "tests/explorer/model.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"

namespace dunlin::explorer {
namespace {

static_assert(std::has_unique_object_representations_v<Config>);

bool Less(const Config& a, const Config& b) { return std::memcmp(&a, &b, sizeof a) < 0; }
bool Same(const Config& a, const Config& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

void Model::Begin() {
  Monitor& m = world_.monitor;
  m.count = 1;
  m.configs[0] = {};
  uint8_t number = 1;
  for (const InitialRecord& r : scenario_.initial) {
    m.configs[0].keys[r.key] = {number++, r.expiry, r.value};
  }
}

void Model::Invoke(uint32_t client) {
  Monitor& m = world_.monitor;
  for (uint32_t i = 0; i < m.count; ++i) {
    m.configs[i].ops[client] = {.status = OpStatus::kPending};
  }
  Normalise();
}

bool Model::Add(const Config& config) {
  Monitor& m = world_.monitor;
  for (uint32_t i = 0; i < m.count; ++i) {
    if (Same(m.configs[i], config)) return false;
  }
  DUNLIN_CHECK(m.count < kMaxConfigs, "kMaxConfigs is too small for this scenario");
  m.configs[m.count++] = config;
  return true;
}

// The specification of every operation.
void Model::Take(uint32_t client, Config& config) const {
  const Op& op = OpOf(client);
  const uint8_t number = OpNumber(client, world_.clients[client].op);
  ModelKey& key = config.keys[op.key];
  ModelOp& done = config.ops[client];
  const bool present = key.writer != 0;
  done.status = OpStatus::kTaken;
  done.result = Result::kOk;
  switch (op.kind) {
    case OpKind::kGet:
      if (!present) {
        done.result = Result::kNotFound;
      } else {
        done.writer = key.writer;
        done.expiry = key.expiry;
        done.value = key.value;
      }
      return;
    case OpKind::kPut:
      key = {number, op.expiry, op.value};
      return;
    case OpKind::kIfAbsent:
      if (present) {
        done.result = Result::kExists;
      } else {
        key = {number, op.expiry, op.value};
      }
      return;
    case OpKind::kReplace:
    case OpKind::kCas:
      if (!present) {
        done.result = Result::kNotFound;
      } else if (op.kind == OpKind::kCas && key.writer != ExpectedWriter(client, op)) {
        done.result = Result::kVersionMismatch;
        done.writer = key.writer;
      } else {
        key = {number, op.expiry, op.value};
      }
      return;
    case OpKind::kAdd:
      if (!present) {
        done.result = Result::kNotFound;
      } else if (key.value == kLongValue) {
        done.result = Result::kNotInteger;
      } else {
        key = {number, key.expiry, static_cast<int16_t>(key.value + op.value)};
        done.value = key.value;
      }
      return;
    case OpKind::kTouch:
      if (!present) {
        done.result = Result::kNotFound;
      } else {
        key = {number, op.expiry, key.value};
      }
      return;
    case OpKind::kRemove:
      if (!present) {
        done.result = Result::kNotFound;
      } else {
        key = {};
      }
      return;
    case OpKind::kScan:
      return;  // checked by itself, see ScanState
  }
}

void Model::Extend(uint32_t client) {
  Monitor& m = world_.monitor;
  for (uint32_t i = 0; i < m.count; ++i) {
    // What comes after `client` took effect can be decided later.
    if (m.configs[i].ops[client].status == OpStatus::kTaken) continue;
    for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
      if (m.configs[i].ops[c].status != OpStatus::kPending) continue;
      Config next = m.configs[i];
      Take(c, next);
      Add(next);
    }
    for (uint32_t k = 0; k < scenario_.keys.size(); ++k) {
      const ModelKey& key = m.configs[i].keys[k];
      if (key.writer == 0 || key.expiry == 0 || key.expiry > world_.tick) continue;
      Config next = m.configs[i];
      next.keys[k] = {};
      Add(next);
    }
  }
}

bool Model::Respond(uint32_t client, const Op& op, uint8_t op_number, const Observed& observed) {
  Extend(client);
  Monitor& m = world_.monitor;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m.count; ++i) {
    const ModelOp& done = m.configs[i].ops[client];
    if (done.status != OpStatus::kTaken || done.result != observed.result) continue;
    bool fits = true;
    if (observed.result == Result::kOk && op.kind == OpKind::kGet) {
      fits = done.writer == observed.writer && done.value == observed.value &&
             done.expiry == observed.expiry;
    } else if (observed.result == Result::kOk && op.kind == OpKind::kAdd) {
      fits = done.value == observed.value;
    } else if (observed.result == Result::kVersionMismatch) {
      fits = done.writer == observed.writer;
    }
    if (observed.result == Result::kOk && op.kind != OpKind::kGet && op.kind != OpKind::kRemove &&
        op.kind != OpKind::kScan) {
      fits = fits && observed.writer == op_number;
    }
    if (!fits) continue;
    m.configs[kept] = m.configs[i];
    m.configs[kept++].ops[client] = {};
  }
  m.count = kept;
  Normalise();
  return kept != 0;
}

bool Model::Void(uint32_t client) {
  Monitor& m = world_.monitor;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m.count; ++i) {
    if (m.configs[i].ops[client].status != OpStatus::kPending) continue;
    m.configs[kept] = m.configs[i];
    m.configs[kept++].ops[client] = {};
  }
  m.count = kept;
  Normalise();
  return kept != 0;
}

void Model::Abandon(uint32_t client) {
  Extend(client);
  for (uint32_t i = 0; i < world_.monitor.count; ++i) world_.monitor.configs[i].ops[client] = {};
  Normalise();
}

bool Model::AtRest(const ModelKey (&keys)[kMaxKeys]) {
  Extend(0);
  for (uint32_t i = 0; i < world_.monitor.count; ++i) {
    if (std::memcmp(world_.monitor.configs[i].keys, keys, sizeof keys) == 0) return true;
  }
  return false;
}

void Model::Normalise() {
  Monitor& m = world_.monitor;
  std::sort(m.configs, m.configs + m.count, Less);
  m.count = static_cast<uint32_t>(std::unique(m.configs, m.configs + m.count, Same) - m.configs);
}

std::string Model::Describe() const {
  std::string text;
  for (uint32_t i = 0; i < world_.monitor.count; ++i) {
    text += "    the map may be";
    for (uint32_t k = 0; k < scenario_.keys.size(); ++k) {
      const ModelKey& key = world_.monitor.configs[i].keys[k];
      text += " " + scenario_.keys[k].bytes + "=";
      text += key.writer == 0
                  ? "absent"
                  : TextOf(key.value) + " (by operation " + std::to_string(key.writer) + ")";
    }
    text += "\n";
  }
  return text;
}

}  // namespace dunlin::explorer
