#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include "client/lane/lane.h"
#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "common/layout/bucket.h"
#include "common/layout/slot.h"

namespace {

using dunlin::Lane;
using dunlin::UniqueFd;

constexpr dunlin::SizeClass kClass = 10;
constexpr uint32_t kWant = 8;

// Takes whatever the client asks, and answers with these bytes and the end of the connection.
void Answer(const UniqueFd& socket, const uint8_t* data, size_t size) {
  char request[4096];
  if (::recv(socket.get(), request, sizeof request, 0) <= 0) return;
  while (size != 0) {
    const ssize_t n = ::send(socket.get(), data, size, MSG_NOSIGNAL);
    if (n <= 0) return;
    data += n;
    size -= static_cast<size_t>(n);
  }
  ::shutdown(socket.get(), SHUT_WR);
}

void CheckBlocks(const absl::StatusOr<Lane::Blocks>& blocks) {
  if (!blocks.ok()) return;
  DUNLIN_CHECK_LE(blocks->words.size(), size_t{kWant});
  DUNLIN_CHECK_EQ(blocks->words.empty(), blocks->outcome != dunlin::BlocksOutcome::kOk);
  for (const uint64_t raw : blocks->words) {
    const dunlin::SlotWord word(raw);
    DUNLIN_CHECK_EQ(word.size_class(), kClass);
    DUNLIN_CHECK(!word.frozen() && word.fingerprint() == 0);
  }
}

void Ask(Lane& lane, uint8_t what) {
  const auto deadline = dunlin::Deadline::After(std::chrono::milliseconds(10'000));
  switch (what % 6) {
    case 0: {
      const auto welcome = lane.Hello({"fuzz", false}, deadline);
      // No descriptor ever comes here.
      DUNLIN_CHECK(!welcome.ok() || (welcome->session_id != 0 && !welcome->region.valid()));
      break;
    }
    case 1:
      CheckBlocks(lane.RequestBlocks(kClass, kWant, 0, 0, deadline));
      break;
    case 2:
      (void)lane.Expire(8, 0, deadline);
      break;
    case 3:
      (void)lane.Ping(deadline);
      break;
    case 4:
      (void)lane.Status({.count_index = true}, deadline);
      break;
    default:
      (void)lane.Goodbye(deadline);
      break;
  }
}

}  // namespace

// The first byte chooses the request, the rest is what the server answers. Whatever that is, the
// client ends with a status in good time, and believes nothing that can't be.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  int ends[2];
  DUNLIN_CHECK_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd server(ends[1]);
  std::thread peer;
  {
    Lane lane{UniqueFd(ends[0])};
    peer = std::thread([&] { Answer(server, data + 1, size - 1); });
    Ask(lane, data[0]);
    (void)lane.HungUp();
  }
  peer.join();
  return 0;
}
