#include <chrono>
#include <memory>
#include <utility>

#include "client/c/c_types.h"

using dunlin::Milliseconds;
using dunlin::c::Guarded;
using dunlin::c::ReadOptions;
using dunlin::c::Report;
using dunlin::c::ReportInvalid;

namespace {

// A deadline of options can't be unset: there is nothing behind it.
bool IsDeadline(int64_t ms) { return ms >= 0; }

}  // namespace

dunlin_code dunlin_connect(const char* target, const dunlin_client_options* options,
                           dunlin_client** client, dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected a pointer, found NULL", error);
  *client = nullptr;
  if (target == nullptr) return ReportInvalid("target: expected a text, found NULL", error);
  dunlin_client_options complete = DUNLIN_CLIENT_OPTIONS_INIT;
  if (!ReadOptions(options, complete) || !IsDeadline(complete.connect_deadline_ms) ||
      !IsDeadline(complete.server_timeout_ms)) {
    return ReportInvalid("client options: expected their size of this release, and times", error);
  }
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    dunlin::ClientOptions cc;
    if (complete.name != nullptr) cc.name = complete.name;
    cc.connect_deadline = Milliseconds(complete.connect_deadline_ms);
    cc.read_only = complete.read_only;
    cc.server_timeout = Milliseconds(complete.server_timeout_ms);
    auto made = std::make_unique<dunlin_client>();
    auto connected = dunlin::Client::Connect(target, cc);
    if (!connected.ok()) return Report(connected.status(), error);
    made->client = *std::move(connected);
    *client = made.release();
    return Report(absl::OkStatus(), error);
  });
}

void dunlin_close(dunlin_client* client) { delete client; }

dunlin_code dunlin_open_session(dunlin_client* client, const dunlin_session_options* options,
                                dunlin_session** session, dunlin_error* error) {
  if (session == nullptr) return ReportInvalid("session: expected a pointer, found NULL", error);
  *session = nullptr;
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  dunlin_session_options complete = DUNLIN_SESSION_OPTIONS_INIT;
  if (!ReadOptions(options, complete) || !IsDeadline(complete.default_deadline_ms)) {
    return ReportInvalid("session options: expected their size of this release, and a deadline",
                         error);
  }
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    dunlin::SessionOptions cc;
    cc.default_deadline = Milliseconds(complete.default_deadline_ms);
    cc.location_cache_bytes = complete.location_cache_bytes;
    cc.max_in_flight = complete.max_in_flight;
    auto made = std::make_unique<dunlin_session>();
    auto opened = client->client->OpenSession(cc);
    if (!opened.ok()) return Report(opened.status(), error);
    made->session = *std::move(opened);
    *session = made.release();
    return Report(absl::OkStatus(), error);
  });
}

void dunlin_close_session(dunlin_session* session) { delete session; }

dunlin_code dunlin_ping(dunlin_client* client, uint64_t* round_trip_ns, dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    const auto pong = client->client->Ping();
    if (pong.ok() && round_trip_ns != nullptr) {
      *round_trip_ns = static_cast<uint64_t>(pong->round_trip.count());
    }
    return Report(pong.status(), error);
  });
}
