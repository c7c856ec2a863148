#include "tests/explorer/scenario.h"

#include <algorithm>

#include "common/base/check.h"

namespace dunlin::explorer {

std::string TextOf(int16_t value) {
  return value == kLongValue ? std::string(24, 'x') : std::to_string(value);
}

void Scenario::Prepare() {
  DUNLIN_CHECK_LE(clients.size(), kMaxClients);
  DUNLIN_CHECK_LE(keys.size(), kMaxKeys);
  DUNLIN_CHECK_LE(blocks, kMaxBlocks);
  DUNLIN_CHECK_LE(slots, kMaxSlots);
  DUNLIN_CHECK_LE(initial.size(), kFirstClientOp - 1u);
  for (size_t i = 0; i < initial.size(); ++i) {
    if (initial[i].value == 0) initial[i].value = static_cast<int16_t>(i + 1);
  }
  std::vector<bool> touched(keys.size());
  for (uint32_t c = 0; c < clients.size(); ++c) {
    DUNLIN_CHECK_LE(clients[c].ops.size(), kOpsPerClient);
    for (uint32_t i = 0; i < clients[c].ops.size(); ++i) {
      Op& op = clients[c].ops[i];
      touched[op.key] = true;
      if (op.value == 0) {
        op.value = op.kind == OpKind::kAdd ? 50 : static_cast<int16_t>(OpNumber(c, i));
      }
      op.text = TextOf(op.value);
    }
  }
  if (relocations != 0) touched[relocated_key] = true;
  for (size_t i = 0; i < keys.size(); ++i) keys[i].touched = touched[i];
}

}  // namespace dunlin::explorer
