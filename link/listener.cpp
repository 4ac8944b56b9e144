#include "link/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/clock.h"
#include "link/heartbeats.h"

namespace penstock {
namespace {

// Connections served before proved peers have their turn again.
constexpr int kStrangersAtOnce = 16;
constexpr int kProvedAtOnce = 64;
constexpr int kAcceptsAtOnce = 16;
// Bytes read from a connection before others have their turn.
constexpr size_t kStrangerReadBytes = 16 << 10;
constexpr size_t kReadBytes = 64 << 10;
constexpr double kMindEvery_s = 1;
constexpr double kSilence_s = kHeartbeatTimeout_ms * 1e-3;
// Routes of listening sockets, in epoll's data.
constexpr uint64_t kListening = uint64_t{1} << 63;

double now_s() { return double(monotonic_ns()) * 1e-9; }

template <class T>
T take_first(std::deque<T>& queue) {
  T first = std::move(queue.front());
  queue.pop_front();
  return first;
}

bool add(const UniqueFd& epoll, int fd, uint64_t data) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<Listener> Listener::listen(const ListenAddress& address,
                                  const Limits& limits) {
  Listener listener(limits);
  Status opened = listener.open(address);
  if (!opened) return std::move(opened).error();
  return listener;
}

Status Listener::open(const ListenAddress& address) {
  for (UniqueFd* epoll : {&ready_, &of_proved_, &of_strangers_}) {
    epoll->reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!*epoll) return system_error(errno, "epoll");
  }
  Result<std::vector<UniqueFd>> listening = listen_at(address);
  if (!listening) return std::move(listening).error();
  listening_ = *std::move(listening);
  bool added =
      add(ready_, of_proved_.get(), 0) && add(ready_, of_strangers_.get(), 0);
  for (size_t i = 0; i < listening_.size(); ++i) {
    added = added && add(of_proved_, listening_[i].get(), kListening | i);
  }
  if (!added) return system_error(errno, "epoll");
  buffer_.resize(kReadBytes);
  return Done{};
}

Result<Listener::Message> Listener::receive() {
  mind_time(now_s());
  if (from_proved_.empty()) serve(of_proved_.get(), kProvedAtOnce);
  if (!from_proved_.empty()) return take_first(from_proved_);
  const bool is_idle = from_strangers_.empty() && faults_.empty();
  if (is_idle) serve(of_strangers_.get(), kStrangersAtOnce);
  if (!faults_.empty()) return take_first(faults_);
  if (!from_strangers_.empty()) return take_first(from_strangers_);
  return Error{Code::kUnavailable, EAGAIN, "nothing to read"};
}

void Listener::serve(int epoll, int at_once) {
  std::array<epoll_event, kProvedAtOnce> events;
  const int count = ::epoll_wait(epoll, events.data(), at_once, 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t route = events[size_t(i)].data.u64;
    const uint32_t ready = events[size_t(i)].events;
    if ((route & kListening) != 0) {
      accept_some(listening_[route & ~kListening].get());
      continue;
    }
    const auto peer = peers_.find(route);
    if (peer == peers_.end()) continue;  // closed meanwhile
    if ((ready & EPOLLOUT) != 0) flush(route, peer->second);
    if ((ready & ~uint32_t(EPOLLOUT)) != 0) read(route);
  }
}

// ---- Connections

void Listener::accept_some(int listening) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    AcceptedSocket accepted = accept_from(listening);
    if (accepted.fd) {
      add_peer(std::move(accepted));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
               errno == ENOMEM) {
      return pause_accepting();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

// The socket stays readable, and would wake the thread for ever.
void Listener::pause_accepting() {
  is_accepting_ = false;
  for (const UniqueFd& fd : listening_) {
    ::epoll_ctl(of_proved_.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
  }
}

void Listener::add_peer(AcceptedSocket accepted) {
  const uint64_t route = ++last_route_;
  if (!add(of_strangers_, accepted.fd.get(), route)) return;
  strangers_.add(route, accepted.network);
  Peer& peer = peers_[route];
  peer.fd = std::move(accepted.fd);
  peer.network = std::move(accepted.network);
  peer.heard_s = now_s();
  peer.unsent = zmtp_opening();
  flush(route, peer);
  close_excess();
}

void Listener::close(uint64_t route) {
  strangers_.remove(route);
  peers_.erase(route);  // epoll forgets a closed descriptor
}

void Listener::close_excess() {
  while (const auto route = strangers_.one_too_many()) close(*route);
}

void Listener::drop_stranger(uint64_t route) {
  const auto peer = peers_.find(route);
  if (peer == peers_.end() || peer->second.is_proved) return;
  close(route);
  // One read may have brought thousands of messages.
  std::erase_if(from_strangers_,
                [&](const Message& message) { return message.route == route; });
}

void Listener::prove(uint64_t route) {
  const auto found = peers_.find(route);
  if (found == peers_.end() || found->second.is_proved) return;
  Peer& peer = found->second;
  ::epoll_ctl(of_strangers_.get(), EPOLL_CTL_DEL, peer.fd.get(), nullptr);
  strangers_.remove(route);
  peer.is_proved = true;
  watch(route, peer, EPOLL_CTL_ADD);
  // Its later messages must not overtake those that are read already.
  const auto own = std::stable_partition(
      from_strangers_.begin(), from_strangers_.end(),
      [&](const Message& message) { return message.route != route; });
  std::move(own, from_strangers_.end(), std::back_inserter(from_proved_));
  from_strangers_.erase(own, from_strangers_.end());
}

void Listener::mind_time(double now_s) {
  if (now_s - minded_s_ < kMindEvery_s) return;
  minded_s_ = now_s;
  if (!is_accepting_) {
    is_accepting_ = true;
    for (size_t i = 0; i < listening_.size(); ++i) {
      (void)add(of_proved_, listening_[i].get(), kListening | i);
    }
  }
  std::vector<uint64_t> silent;
  for (const auto& [route, peer] : peers_) {
    char next = 0;
    if (now_s - peer.heard_s > kSilence_s &&
        ::recv(peer.fd.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
      silent.push_back(route);
    }
  }
  for (const uint64_t route : silent) close(route);
}

// ---- Bytes

void Listener::read(uint64_t route) {
  Peer& peer = peers_.at(route);
  const ssize_t size =
      ::recv(peer.fd.get(), buffer_.data(),
             peer.is_proved ? kReadBytes : kStrangerReadBytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close(route);
  peer.heard_s = now_s();
  Status taken = take(route, peer, {buffer_.data(), size_t(size)});
  if (!taken) {
    faults_.push_back(std::move(taken).error().wrap(peer.network));
    return close(route);
  }
  account(route, peer);
}

Status Listener::take(uint64_t route, Peer& peer, std::string_view bytes) {
  while (true) {
    Result<ZmtpReader::Got> got = peer.reader.read(bytes);
    if (!got) return std::move(got).error();
    if (*got == ZmtpReader::Got::kNothing) return Done{};
    std::string text = peer.reader.take_text();
    if (*got == ZmtpReader::Got::kMessage) {
      (peer.is_proved ? from_proved_ : from_strangers_)
          .push_back({route, std::move(text)});
    } else if (peer.unsent.empty()) {
      peer.unsent = zmtp_pong(text);
      flush(route, peer);
    }
  }
}

Status Listener::send(uint64_t route, std::string_view text) {
  const auto found = peers_.find(route);
  if (found == peers_.end()) {
    return Error{Code::kUnavailable, ENOTCONN, "its connection is closed"};
  }
  Peer& peer = found->second;
  if (peer.unsent.size() + text.size() > limits_.unsent_bytes) {
    return Error{Code::kUnavailable, EAGAIN,
                 "its queue is full: " + std::to_string(peer.unsent.size()) +
                     " bytes wait"};
  }
  peer.unsent += zmtp_header(text.size());
  peer.unsent += text;
  flush(route, peer);
  account(route, peer);
  return Done{};
}

void Listener::flush(uint64_t route, Peer& peer) {
  while (!peer.unsent.empty()) {
    const ssize_t sent =
        ::send(peer.fd.get(), peer.unsent.data(), peer.unsent.size(),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      // Then it is readable, and closed by read().
      ::shutdown(peer.fd.get(), SHUT_RDWR);
      peer.unsent.clear();
      break;
    }
    peer.unsent.erase(0, size_t(sent));
  }
  if (peer.unsent.empty()) peer.unsent = std::string();
  watch(route, peer, EPOLL_CTL_MOD);
}

void Listener::watch(uint64_t route, const Peer& peer, int operation) {
  epoll_event event{};
  event.events = peer.unsent.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  event.data.u64 = route;
  ::epoll_ctl(peer.is_proved ? of_proved_.get() : of_strangers_.get(),
              operation, peer.fd.get(), &event);
}

// May close the peer.
void Listener::account(uint64_t route, const Peer& peer) {
  const size_t unsent = peer.unsent.empty() ? 0 : peer.unsent.capacity();
  strangers_.hold(route, peer.reader.held_bytes() + unsent);
  close_excess();
}

}  // namespace penstock
