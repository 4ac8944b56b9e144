#include "loader/peer/peer_link.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"

namespace penstock {

PeerLink::PeerLink(std::string node, const PeerLinkOptions& options,
                   LinkChores& chores, Events events)
    : node_(std::move(node)),
      options_(options),
      chores_(chores),
      events_(std::move(events)) {}

std::string PeerLink::where() const {
  return node_ + ":" + std::to_string(options_.ports[port_]);
}

void PeerLink::ask(std::shared_ptr<PeerCall> call) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns < alone_until_ns_) {
    events_.failed(*call);
    return;
  }
  call->deadline_ns = now_ns + options_.answer_ns +
                      (state_ == State::kOpen ? 0 : options_.connect_ns);
  calls_.push_back(std::move(call));
}

// Drops the gift if the node was connected before and is in backoff now.
void PeerLink::give(PeerGift gift) {
  if (was_open_ && monotonic_ns() < alone_until_ns_) {
    events_.gifts_gone(false, 1, gift.sample.size());
    return;
  }
  gifts_.push_back(std::move(gift));
}

short PeerLink::events() const {
  if (state_ == State::kConnecting) return POLLOUT;
  return static_cast<short>(POLLIN | (output_.bytes() > 0 ? POLLOUT : 0));
}

uint64_t PeerLink::deadline_ns() const {
  uint64_t deadline_ns = std::min(step_deadline_ns_, gift_deadline_ns_);
  if (!calls_.empty()) {
    deadline_ns = std::min(deadline_ns, calls_.front()->deadline_ns);
  }
  if (!asked_.empty()) {
    deadline_ns = std::min(deadline_ns, asked_.front()->deadline_ns);
  }
  if (state_ == State::kIdle && has_work()) {
    deadline_ns = std::min(deadline_ns, alone_until_ns_);
  }
  return deadline_ns;
}

void PeerLink::go_on(short events, uint64_t now_ns) {
  if (state_ == State::kConnecting && events != 0) take_connection(now_ns);
  if ((state_ == State::kGreeting || state_ == State::kOpen) &&
      (events & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive_all(now_ns)) {
    return;
  }
  if (state_ == State::kIdle && has_work() && now_ns >= alone_until_ns_) {
    begin(now_ns);
  }
  if (fd_ && state_ != State::kConnecting) send(now_ns);
  const bool is_late =
      (!calls_.empty() && calls_.front()->deadline_ns <= now_ns) ||
      (!asked_.empty() && asked_.front()->deadline_ns <= now_ns) ||
      gift_deadline_ns_ <= now_ns;
  if (is_late) {
    leave_alone(Trouble::kLate, node_ + ": no answer in time", now_ns);
  } else if (step_deadline_ns_ <= now_ns) {
    try_next_port(now_ns, Trouble::kLate, "no answer in time");
  }
}

void PeerLink::begin(uint64_t now_ns) {
  tried_ports_ = 0;
  worst_ = Trouble::kAbsent;
  if (address_) {
    connect(now_ns);
  } else {
    resolve(now_ns);
  }
}

void PeerLink::resolve(uint64_t now_ns) {
  state_ = State::kResolving;
  step_deadline_ns_ = UINT64_MAX;  // calls have their own deadlines
  // A hanging lookup of an earlier try is not started twice.
  if (is_looked_up_) return;
  is_looked_up_ = chores_.names.add([this, node = node_]() -> PeerChores::Then {
    return [this, found = resolve_peer(node)] {
      is_looked_up_ = false;
      if (found) address_ = *found;
      if (state_ != State::kResolving) return;
      if (found) {
        connect(monotonic_ns());
      } else {
        leave_alone(Trouble::kLate, found.error().message, monotonic_ns());
      }
    };
  });
  if (!is_looked_up_) {
    leave_alone(Trouble::kLate, node_ + ": too much to do", now_ns);
  }
}

void PeerLink::connect(uint64_t now_ns) {
  close();
  ++connection_;
  auto fd = connect_peer(*address_, options_.ports[port_]);
  if (!fd) {
    try_next_port(now_ns,
                  fd.error().code == Code::kUnavailable ? Trouble::kAbsent
                                                        : Trouble::kLate,
                  fd.error().message);
    return;
  }
  fd_ = *std::move(fd);
  state_ = State::kConnecting;
  step_deadline_ns_ = now_ns + options_.connect_ns;
}

void PeerLink::take_connection(uint64_t now_ns) {
  const int error = connect_outcome(fd_.get());
  if (error != 0) {
    try_next_port(now_ns,
                  error == ECONNREFUSED ? Trouble::kAbsent : Trouble::kLate,
                  std::strerror(error));
    return;
  }
  claim_ = PeerClaim{random_nonce(),   {},    options_.fingerprint,
                     options_.samples, node_, options_.ports[port_]};
  output_.add({.kind = PeerKind::kHello},
              {claim_.client_nonce.begin(), claim_.client_nonce.end()});
  state_ = State::kGreeting;
  step_deadline_ns_ = now_ns + options_.answer_ns;
}

// A port may belong to another program or another data set's server. A machine
// that lets a connection time out is not tried at further ports.
void PeerLink::try_next_port(uint64_t now_ns, Trouble trouble,
                             const std::string& why) {
  if (trouble >= worst_) {
    worst_ = trouble;
    worst_why_ = where() + ": " + why;
  }
  const bool was_connecting = state_ == State::kConnecting;
  close();
  port_ = (port_ + 1) % options_.ports.size();
  const bool is_machine_late = was_connecting && trouble == Trouble::kLate;
  if (++tried_ports_ < options_.ports.size() && !is_machine_late) {
    connect(now_ns);
    return;
  }
  leave_alone(worst_, worst_why_, now_ns);
}

// Resets the connection to kIdle. Requests and gifts not yet sent stay queued.
void PeerLink::close() {
  ++connection_;
  fd_.reset();
  input_ = PeerInput();
  if (puts_ > 0) events_.gifts_gone(false, puts_, put_bytes_);
  output_ = PeerOutput();
  puts_ = put_bytes_ = 0;
  state_ = State::kIdle;
  step_deadline_ns_ = gift_deadline_ns_ = UINT64_MAX;
}

void PeerLink::leave_alone(Trouble trouble, const std::string& why,
                           uint64_t now_ns) {
  close();
  // A refused connection costs nothing, and the node may be about to start.
  const bool is_absent = trouble == Trouble::kAbsent;
  uint64_t& pause_ns = is_absent ? absent_pause_ns_ : pause_ns_;
  alone_until_ns_ = now_ns + pause_ns;
  pause_ns =
      std::min(2 * pause_ns, is_absent ? kMostAbsentPause_ns : kMostPause_ns);
  events_.left_alone(alone_until_ns_, trouble, why);
  for (auto* calls : {&calls_, &asked_}) {
    for (const auto& call : *calls) events_.failed(*call);
    calls->clear();
  }
  // Gifts stay queued for a node that was never connected: it may start later.
  if (!was_open_) return;
  for (const PeerGift& gift : gifts_) {
    events_.gifts_gone(false, 1, gift.sample.size());
  }
  gifts_.clear();
}

}  // namespace penstock
