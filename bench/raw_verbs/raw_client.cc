#include "bench/raw_verbs/raw_client.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/raw_verbs/tsc.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace dunlin::bench {
namespace {

constexpr int kResolveMillis = 2'000;
constexpr int kConnectMillis = 5'000;
constexpr int kOperationMillis = 5'000;

// The local memory: what is written from, what READs and atomics bring, what messages bring.
constexpr size_t kSource = 0;
constexpr size_t kSink = kSource + kWriteArea;
constexpr size_t kWordSink = kSink + kReadArea;
constexpr size_t kInbox = kWordSink + 64;
constexpr size_t kLocalBytes = kInbox + kMessageBytes;

absl::Status Lost(std::string_view what) { return MakeStatus(absl::StatusCode::kDataLoss, what); }

}  // namespace

PollMode DefaultPollMode() {
  return ::sysconf(_SC_NPROCESSORS_ONLN) > 1 ? PollMode::kSpin : PollMode::kYield;
}

RawClient::RawClient(const RawClientOptions& options)
    : options_(options), expected_(kReadArea), memory_(kLocalBytes) {
  FillReadArea(expected_);
}

RawClient::~RawClient() {
  if (pair_ != nullptr) rdma_disconnect(id_.get());
}

absl::StatusOr<std::unique_ptr<RawClient>> RawClient::Connect(const RawClientOptions& options) {
  std::unique_ptr<RawClient> client(new RawClient(options));
  const std::string peer = options.address + ":" + std::to_string(options.port);
  if (absl::Status status = client->Resolve(); !status.ok()) {
    return WithContext(status, "no RDMA device leads to " + peer);
  }
  if (absl::Status status = client->Handshake(); !status.ok()) {
    return WithContext(status, "can't connect to " + peer);
  }
  return client;
}

absl::Status RawClient::Expect(rdma_cm_event_type type, CmEvent& event) {
  DUNLIN_ASSIGN_OR_RETURN(event, NextEvent(events_.get(), kConnectMillis));
  if (event->event == type) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    std::string("expected ") + rdma_event_str(type) + ", found " +
                        rdma_event_str(event->event) + " (" + std::to_string(event->status) + ")");
}

absl::Status RawClient::Resolve() {
  DUNLIN_ASSIGN_OR_RETURN(events_, CreateEventChannel());
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(events_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return ErrnoStatus("rdma_create_id");
  }
  id_.reset(id);
  DUNLIN_ASSIGN_OR_RETURN(auto destination, ParseAddress(options_.address, options_.port));
  sockaddr_storage source{};
  if (!options_.source.empty()) {
    DUNLIN_ASSIGN_OR_RETURN(source, ParseAddress(options_.source, 0));
  }
  if (rdma_resolve_addr(id,
                        options_.source.empty() ? nullptr : reinterpret_cast<sockaddr*>(&source),
                        reinterpret_cast<sockaddr*>(&destination), kResolveMillis) != 0) {
    return ErrnoStatus("rdma_resolve_addr");
  }
  CmEvent event;
  DUNLIN_RETURN_IF_ERROR(Expect(RDMA_CM_EVENT_ADDR_RESOLVED, event));
  event.reset();
  if (rdma_resolve_route(id, kResolveMillis) != 0) return ErrnoStatus("rdma_resolve_route");
  return Expect(RDMA_CM_EVENT_ROUTE_RESOLVED, event);
}

absl::Status RawClient::Handshake() {
  DUNLIN_ASSIGN_OR_RETURN(pair_, QueuePair::Create(id_.get(), memory_));
  const RawHello hello{.poll = options_.server_poll};
  rdma_conn_param parameters =
      pair_->ConnectionParameters(std::as_bytes(std::span<const RawHello, 1>(&hello, 1)));
  if (rdma_connect(id_.get(), &parameters) != 0) return ErrnoStatus("rdma_connect");
  CmEvent event;
  DUNLIN_RETURN_IF_ERROR(Expect(RDMA_CM_EVENT_ESTABLISHED, event));
  const rdma_conn_param& answer = event->param.conn;
  if (answer.private_data == nullptr || answer.private_data_len < sizeof(offer_)) {
    return absl::FailedPreconditionError("the peer is no raw_verbs server");
  }
  std::memcpy(&offer_, answer.private_data, sizeof(offer_));
  if (offer_.magic != kRawMagic) {
    return absl::FailedPreconditionError("the peer is no raw_verbs server of this build");
  }
  return absl::OkStatus();
}

ibv_sge RawClient::Part(size_t local_offset, uint32_t bytes) const {
  return {.addr = reinterpret_cast<uint64_t>(memory_.data() + local_offset),
          .length = bytes,
          .lkey = pair_->lkey()};
}

ibv_send_wr RawClient::Request(ibv_wr_opcode opcode, ibv_sge& part, uint64_t remote_offset) const {
  ibv_send_wr request{};
  request.opcode = opcode;
  request.sg_list = &part;
  request.num_sge = 1;
  request.wr.rdma.remote_addr = offer_.address + remote_offset;
  request.wr.rdma.rkey = offer_.rkey;
  return request;
}

void RawClient::AllowInline(ibv_send_wr& request) const {
  if (options_.inline_payloads && request.sg_list->length <= pair_->inline_bytes()) {
    request.send_flags |= IBV_SEND_INLINE;
  }
}

absl::StatusOr<uint64_t> RawClient::Run(ibv_send_wr* chain, int completions) {
  const uint64_t start = TscNow();
  DUNLIN_RETURN_IF_ERROR(pair_->PostSend(chain));
  DUNLIN_RETURN_IF_ERROR(Await(completions));
  return TscNow() - start;
}

absl::Status RawClient::Await(int completions) {
  std::array<ibv_wc, 4> found;
  uint64_t polls = 0;
  bool armed = false;
  while (true) {
    DUNLIN_ASSIGN_OR_RETURN(const int count, pair_->Poll(found));
    completions -= count;
    if (completions <= 0) return absl::OkStatus();
    if (count > 0) continue;
    if (options_.poll != PollMode::kBlock) {
      DUNLIN_RETURN_IF_ERROR(CheckDeadline(polls));
      if (options_.poll == PollMode::kYield) ::sched_yield();
      continue;
    }
    // What comes before the queue is armed raises no notification: it is polled once more.
    DUNLIN_RETURN_IF_ERROR(armed ? AwaitNotification() : pair_->Arm());
    armed = !armed;
  }
}

// Looks at the clock seldom: in a virtual machine that may cost as much as the operation.
absl::Status RawClient::CheckDeadline(uint64_t& polls) {
  constexpr uint64_t kPollsPerLook = 1024;
  if (++polls % kPollsPerLook != 0) return absl::OkStatus();
  const int64_t now = SystemClock().NowNanos();
  if (polls == kPollsPerLook) deadline_ = now + kOperationMillis * int64_t{1'000'000};
  if (now < deadline_) return absl::OkStatus();
  return absl::DeadlineExceededError("no completion within 5 s");
}

absl::Status RawClient::AwaitNotification() {
  pollfd file{.fd = pair_->channel()->fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&file, 1, kOperationMillis);
  if (ready < 0 && errno != EINTR) return ErrnoStatus("poll");
  if (ready == 0) return absl::DeadlineExceededError("no completion within 5 s");
  return pair_->TakeNotification();
}

size_t RawClient::RandomPlace(size_t area, uint32_t bytes) {
  return random_.Below((area - bytes) / sizeof(uint64_t) + 1) * sizeof(uint64_t);
}

absl::StatusOr<uint64_t> RawClient::Read(uint32_t bytes) {
  DUNLIN_CHECK(bytes > 0 && bytes <= kReadArea / 2);
  const size_t place = RandomPlace(kReadArea, bytes);
  std::memset(memory_.data() + kSink, 0, bytes);
  ibv_sge sink = Part(kSink, bytes);
  ibv_send_wr request = Request(IBV_WR_RDMA_READ, sink, place);
  request.send_flags = IBV_SEND_SIGNALED;
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t ticks, Run(&request));
  if (!Brought(kSink, place, bytes)) return Lost("a READ brought other bytes than the server has");
  return ticks;
}

absl::StatusOr<uint64_t> RawClient::ReadPair(uint32_t bytes) {
  DUNLIN_CHECK(bytes > 0 && bytes <= kReadArea / 2);
  const size_t place = RandomPlace(kReadArea, bytes);
  const size_t word_place = RandomPlace(kReadArea, sizeof(uint64_t));
  std::memset(memory_.data() + kSink, 0, bytes);
  std::memset(memory_.data() + kWordSink, 0, sizeof(uint64_t));
  ibv_sge sink = Part(kSink, bytes);
  ibv_sge word_sink = Part(kWordSink, sizeof(uint64_t));
  ibv_send_wr second = Request(IBV_WR_RDMA_READ, word_sink, word_place);
  second.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr first = Request(IBV_WR_RDMA_READ, sink, place);
  first.next = &second;
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t ticks, Run(&first));
  if (!Brought(kSink, place, bytes) || !Brought(kWordSink, word_place, sizeof(uint64_t))) {
    return Lost("a pair of READs brought other bytes than the server has");
  }
  return ticks;
}

bool RawClient::Brought(size_t local_offset, size_t place, uint32_t bytes) const {
  return std::memcmp(memory_.data() + local_offset, expected_.data() + place, bytes) == 0;
}

absl::StatusOr<uint64_t> RawClient::Write(uint32_t bytes) {
  DUNLIN_CHECK(bytes > 0 && bytes <= kWriteArea / 2);
  const size_t place = kReadArea + RandomPlace(kWriteArea, bytes);
  StampSource(bytes);
  ibv_sge source = Part(kSource, bytes);
  ibv_send_wr request = Request(IBV_WR_RDMA_WRITE, source, place);
  request.send_flags = IBV_SEND_SIGNALED;
  AllowInline(request);
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t ticks, Run(&request));
  DUNLIN_RETURN_IF_ERROR(CheckWritten(place, bytes));
  return ticks;
}

absl::StatusOr<uint64_t> RawClient::WriteCas(uint32_t bytes) {
  DUNLIN_CHECK(bytes > 0 && bytes <= kWriteArea / 2);
  // Posting an atomic to a device without them may stall the queue pair without an error.
  if (!has_atomics()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "device " + device_name() +
                          " or the server's has no atomics (atomic_cap is "
                          "IBV_ATOMIC_NONE, as always with iWARP): no WRITE + CAS here");
  }
  DUNLIN_RETURN_IF_ERROR(LearnWord());
  const size_t place = kReadArea + RandomPlace(kWriteArea, bytes);
  StampSource(bytes);
  ibv_sge source = Part(kSource, bytes);
  ibv_sge result = Part(kWordSink, sizeof(uint64_t));
  ibv_send_wr swap{};
  swap.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  swap.sg_list = &result;
  swap.num_sge = 1;
  swap.send_flags = IBV_SEND_SIGNALED;
  swap.wr.atomic.remote_addr = offer_.address + kWordOffset;
  swap.wr.atomic.rkey = offer_.rkey;
  swap.wr.atomic.compare_add = word_;
  swap.wr.atomic.swap = word_ + 1;
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, source, place);
  write.next = &swap;
  AllowInline(write);
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t ticks, Run(&write));
  if (LoadWordSink() != word_)
    return Lost("a CAS found another word than is there, and swapped none");
  DUNLIN_RETURN_IF_ERROR(CheckWritten(place, bytes));
  const uint64_t swapped = word_ + 1;
  word_known_ = false;
  DUNLIN_RETURN_IF_ERROR(LearnWord());
  if (word_ != swapped) return Lost("a CAS reported success and swapped no word");
  return ticks;
}

absl::Status RawClient::LearnWord() {
  if (word_known_) return absl::OkStatus();
  ibv_sge sink = Part(kWordSink, sizeof(uint64_t));
  ibv_send_wr request = Request(IBV_WR_RDMA_READ, sink, kWordOffset);
  request.send_flags = IBV_SEND_SIGNALED;
  DUNLIN_RETURN_IF_ERROR(Run(&request));
  word_ = LoadWordSink();
  word_known_ = true;
  return absl::OkStatus();
}

uint64_t RawClient::LoadWordSink() const {
  uint64_t word;
  std::memcpy(&word, memory_.data() + kWordSink, sizeof(word));
  return word;
}

void RawClient::StampSource(uint32_t bytes) {
  uint64_t state = ++stamp_;
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = SplitMix64(state);
    std::memcpy(memory_.data() + kSource + at, &word, std::min<size_t>(sizeof(word), bytes - at));
  }
}

absl::Status RawClient::CheckWritten(size_t remote_offset, uint32_t bytes) {
  std::memset(memory_.data() + kSink, 0, bytes);
  ibv_sge sink = Part(kSink, bytes);
  ibv_send_wr request = Request(IBV_WR_RDMA_READ, sink, remote_offset);
  request.send_flags = IBV_SEND_SIGNALED;
  DUNLIN_RETURN_IF_ERROR(Run(&request));
  if (std::memcmp(memory_.data() + kSink, memory_.data() + kSource, bytes) == 0) {
    return absl::OkStatus();
  }
  return Lost("a READ behind a WRITE's completion brought other bytes than were written");
}

absl::StatusOr<uint64_t> RawClient::PingPong(uint32_t bytes) {
  DUNLIN_CHECK(bytes > 0 && bytes <= kMessageBytes);
  StampSource(bytes);
  std::memset(memory_.data() + kInbox, 0, bytes);
  DUNLIN_RETURN_IF_ERROR(pair_->PostReceive(memory_.data() + kInbox, kMessageBytes, 0));
  ibv_sge source = Part(kSource, bytes);
  ibv_send_wr request = Request(IBV_WR_SEND, source, 0);
  request.send_flags = IBV_SEND_SIGNALED;
  AllowInline(request);
  // The message's own completion and the answer's.
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t ticks, Run(&request, 2));
  if (std::memcmp(memory_.data() + kInbox, memory_.data() + kSource, bytes) != 0) {
    return Lost("the server's answer differs from the message");
  }
  return ticks;
}

}  // namespace dunlin::bench
