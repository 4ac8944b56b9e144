#include "exchange/transport/thread_ranks.h"

#include <algorithm>
#include <utility>

namespace penstock::exchange {

// The rank's oldest unmatched operation of this kind, peer and tag, or null.
ThreadRanks::Operation* ThreadRanks::first(int rank, Kind kind, int peer,
                                           int tag) {
  Operation* found = nullptr;
  for (Operation& one : operations_[size_t(rank)]) {
    if (one.kind != kind || one.peer != peer || one.tag != tag || one.is_done) {
      continue;
    }
    if (found == nullptr || one.number < found->number) found = &one;
  }
  return found;
}

ThreadRanks::Operation* ThreadRanks::of_all(int rank, uint64_t number) {
  for (Operation& one : operations_[size_t(rank)]) {
    if (one.kind == Kind::kAllgather && one.number == number) return &one;
  }
  return nullptr;
}

void ThreadRanks::deliver(Operation& send, Operation& receive) {
  receive.is_too_long = send.given.size() > receive.room.size();
  if (!receive.is_too_long) {
    std::copy(send.given.begin(), send.given.end(), receive.room.begin());
    receive.received = send.given.size();
  }
  send.is_done = receive.is_done = true;
}

void ThreadRanks::meet(uint64_t number) {
  std::vector<Operation*>& all = met_;
  all.clear();
  for (int rank = 0; rank < size(); ++rank) {
    all.push_back(of_all(rank, number));
    if (all.back() == nullptr) return;
  }
  for (const Operation* one : all) {
    if (one->given.size() != all[0]->given.size()) {
      for (Operation* each : all) each->is_done = each->is_too_long = true;
      return;
    }
  }
  gather(all);
  for (Operation* one : all) one->is_done = true;
}

void ThreadRanks::gather(const std::vector<Operation*>& all) {
  const size_t bytes = all[0]->given.size();
  for (Operation* one : all) {
    for (size_t rank = 0; rank < all.size(); ++rank) {
      std::copy(all[rank]->given.begin(), all[rank]->given.end(),
                one->room.begin() + std::ptrdiff_t(rank * bytes));
    }
  }
}

class ThreadTransport : public Transport {
 public:
  ThreadTransport(ThreadRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  ~ThreadTransport() override {
    const std::lock_guard lock(ranks_.mutex_);
    mine().clear();
  }

  int rank() const override { return rank_; }
  int size() const override { return ranks_.size(); }

  void reserve(size_t requests) override {
    const std::lock_guard lock(ranks_.mutex_);
    mine().resize(requests);
    ranks_.met_.reserve(size_t(size()));
  }

  Result<Request> send(int to, int tag,
                       std::span<const std::byte> message) override {
    return begin({.kind = Kind::kSend,
                  .number = messages_++,
                  .peer = to,
                  .tag = tag,
                  .given = message});
  }
  Result<Request> receive(int from, int tag,
                          std::span<std::byte> room) override {
    return begin({.kind = Kind::kReceive,
                  .number = messages_++,
                  .peer = from,
                  .tag = tag,
                  .room = room});
  }
  Result<bool> has_message(int from, int tag) override {
    const std::lock_guard lock(ranks_.mutex_);
    return ranks_.first(from, Kind::kSend, rank_, tag) != nullptr;
  }
  Result<Request> allgather(std::span<const std::byte> mine,
                            std::span<std::byte> all) override {
    return begin({.kind = Kind::kAllgather,
                  .number = of_all_++,
                  .given = mine,
                  .room = all});
  }

  Result<bool> test(Request request, size_t* received) override {
    const std::lock_guard lock(ranks_.mutex_);
    ThreadRanks::Operation& one = mine()[request.slot];
    if (!one.is_done) return false;
    ++finished_;
    const ThreadRanks::Operation done = std::exchange(one, {});
    if (done.is_too_long) {
      return invalid(
          "other ranks began an operation of another size at this position of "
          "the order");
    }
    if (received != nullptr) *received = done.received;
    return true;
  }

 private:
  using Kind = ThreadRanks::Kind;

  std::vector<ThreadRanks::Operation>& mine() {
    return ranks_.operations_[size_t(rank_)];
  }

  Result<Request> begin(const ThreadRanks::Operation& operation) {
    const std::lock_guard lock(ranks_.mutex_);
    for (size_t slot = 0; slot < mine().size(); ++slot) {
      ThreadRanks::Operation& one = mine()[slot];
      if (one.kind != Kind::kFree) continue;
      one = operation;
      bring_together(one);
      return Request{slot};
    }
    return Error{Code::kLimit, 0,
                 "more than " + std::to_string(mine().size()) +
                     " operations of a rank at once"};
  }

  void bring_together(ThreadRanks::Operation& one) {
    if (one.kind == Kind::kSend || one.kind == Kind::kReceive) {
      const bool is_send = one.kind == Kind::kSend;
      ThreadRanks::Operation* other = ranks_.first(
          one.peer, is_send ? Kind::kReceive : Kind::kSend, rank_, one.tag);
      if (other == nullptr) return;
      // `one` is our oldest operation: `other` would have matched an older one.
      ThreadRanks::deliver(is_send ? one : *other, is_send ? *other : one);
    } else {
      ranks_.meet(one.number);
    }
  }

  ThreadRanks& ranks_;
  const int rank_;
  uint64_t messages_ = 0;
  uint64_t of_all_ = 0;
};

std::unique_ptr<Transport> ThreadRanks::transport(int rank) {
  return std::make_unique<ThreadTransport>(*this, rank);
}

}  // namespace penstock::exchange
