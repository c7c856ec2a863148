#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/verbs/verbs_link.h"

namespace dunlin {

// A queue pair and its completion queue without an adapter: records what is posted, and completes
// what the test says, how it says. The inline functions of libibverbs call through
// ibv_context::ops.
class FakeAdapter {
 public:
  struct List {
    std::vector<ibv_send_wr> requests;
    std::vector<std::vector<std::byte>> bytes;  // of each; what a READ's buffer held
  };

  FakeAdapter() {
    context_.self = this;
    context_.ops.post_send = &PostSend;
    context_.ops.post_recv = &PostReceive;
    context_.ops.poll_cq = &PollQueue;
    qp_.context = cq_.context = &context_;
  }
  ibv_qp* qp() { return &qp_; }
  ibv_cq* cq() { return &cq_; }

  const std::vector<List>& lists() const { return lists_; }
  const List& last() const { return lists_.back(); }
  size_t receives() const { return receives_.size(); }

  // The next posts: fail with `error`, having taken so many of the list.
  void FailPosts(int error, size_t taken) {
    post_error_ = error;
    posts_fail_ = true;
    posts_take_ = taken;
  }
  void FailReceives(int error) { receive_error_ = error; }
  void FailPolls(int error) { poll_error_ = error; }

  // Completes this request of this list.
  void Complete(size_t list, size_t request, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_wc completion{};
    completion.wr_id = lists_[list].requests[request].wr_id;
    completion.status = status;
    completions_.push_back(completion);
  }
  // All signalled requests of the list, in order.
  void CompleteList(size_t list) {
    for (size_t i = 0; i < lists_[list].requests.size(); ++i) {
      if ((lists_[list].requests[i].send_flags & IBV_SEND_SIGNALED) != 0) Complete(list, i);
    }
  }
  void CompleteAll() {
    for (; completed_ < lists_.size(); ++completed_) CompleteList(completed_);
  }
  // Puts bytes where a READ or an atomic of the list wants them.
  void Answer(size_t list, size_t request, std::span<const std::byte> bytes) {
    std::memcpy(reinterpret_cast<void*>(lists_[list].requests[request].sg_list->addr), bytes.data(),
                bytes.size());
  }
  void AnswerWord(size_t list, size_t request, uint64_t word) {
    Answer(list, request, std::as_bytes(std::span(&word, 1)));
  }

  // A message arrives in the oldest receive buffer.
  void Deliver(std::span<const std::byte> bytes, uint32_t credits) {
    const MessageHeader header{static_cast<uint32_t>(bytes.size()), credits};
    std::vector<std::byte> message(sizeof header + bytes.size());
    std::memcpy(message.data(), &header, sizeof header);
    if (!bytes.empty()) std::memcpy(message.data() + sizeof header, bytes.data(), bytes.size());
    DeliverRaw(message);
  }
  void DeliverRaw(std::span<const std::byte> message) {
    const Receive receive = receives_.front();
    receives_.pop_front();
    if (!message.empty()) std::memcpy(receive.address, message.data(), message.size());
    ibv_wc completion{};
    completion.wr_id = receive.id;
    completion.byte_len = static_cast<uint32_t>(message.size());
    completions_.push_back(completion);
  }
  void FailReceive(ibv_wc_status status) {
    ibv_wc completion{};
    completion.wr_id = receives_.front().id;
    completion.status = status;
    receives_.pop_front();
    completions_.push_back(completion);
  }

 private:
  struct Context : ibv_context {
    FakeAdapter* self;
  };
  struct Receive {
    uint64_t id;
    void* address;
  };
  static FakeAdapter& Of(ibv_context* context) { return *static_cast<Context*>(context)->self; }

  static int PostSend(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** refused) {
    FakeAdapter& self = Of(qp->context);
    List list;
    for (ibv_send_wr* at = first; at != nullptr; at = at->next) {
      if (self.posts_fail_ && list.requests.size() == self.posts_take_) {
        *refused = at;
        break;
      }
      list.requests.push_back(*at);
      list.bytes.emplace_back();
      if (at->num_sge != 0) {
        // The entry is the caller's again after the post.
        self.buffers_.push_back(*at->sg_list);
        list.requests.back().sg_list = &self.buffers_.back();
        const auto* from = reinterpret_cast<const std::byte*>(at->sg_list->addr);
        list.bytes.back().assign(from, from + at->sg_list->length);
      }
    }
    if (!list.requests.empty()) self.lists_.push_back(std::move(list));
    return self.posts_fail_ ? self.post_error_ : 0;
  }
  static int PostReceive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** refused) {
    FakeAdapter& self = Of(qp->context);
    if (self.receive_error_ != 0) {
      *refused = request;
      return self.receive_error_;
    }
    self.receives_.push_back({request->wr_id, reinterpret_cast<void*>(request->sg_list->addr)});
    return 0;
  }
  static int PollQueue(ibv_cq* cq, int most, ibv_wc* completions) {
    FakeAdapter& self = Of(cq->context);
    if (self.poll_error_ != 0) return -self.poll_error_;
    int n = 0;
    for (; n < most && !self.completions_.empty(); ++n) {
      completions[n] = self.completions_.front();
      self.completions_.pop_front();
    }
    return n;
  }

  Context context_{};
  ibv_qp qp_{};
  ibv_cq cq_{};
  std::vector<List> lists_;
  std::deque<ibv_sge> buffers_;
  std::deque<Receive> receives_;
  std::deque<ibv_wc> completions_;
  size_t completed_ = 0;
  bool posts_fail_ = false;
  int post_error_ = 0;
  size_t posts_take_ = 0;
  int receive_error_ = 0;
  int poll_error_ = 0;
};

// A link on a fake adapter, with small buffers of its own.
struct FakeLinkMemory {
  explicit FakeLinkMemory(const VerbsLink::Limits& limits, size_t staging_bytes = 1u << 16)
      : staging(staging_bytes), receive(size_t{limits.receive_depth} * limits.message_bytes) {}
  VerbsLink::Buffers buffers() {
    VerbsLink::Buffers result;
    result.staging = staging;
    result.staging_key = 5;
    result.receive = receive;
    result.receive_key = 6;
    return result;
  }
  std::vector<std::byte> staging;
  std::vector<std::byte> receive;
};

inline VerbsLink::Limits FakeLimits() {
  VerbsLink::Limits limits;
  limits.send_slots = 64;
  limits.max_inline = 32;
  limits.receive_depth = 8;
  limits.message_bytes = 1024;
  limits.peer_receive_depth = 8;
  limits.peer_message_bytes = 1024;
  return limits;
}

inline MessageHeader HeaderOf(const std::vector<std::byte>& message) {
  MessageHeader header{};
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

}  // namespace dunlin
