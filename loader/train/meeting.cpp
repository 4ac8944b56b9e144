#include "loader/train/meeting.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "common/clock.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr int kSlice_ms = 100;

Result<sockaddr_in> parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (colon == text.npos || ::inet_pton(AF_INET, text.substr(0, colon).c_str(),
                                        &address.sin_addr) != 1) {
    return invalid("--meet " + text + ": allowed: IPv4-ADDRESS:PORT");
  }
  const auto port = parse_uint(text.substr(colon + 1), 1, 65535);
  if (!port)
    return invalid("--meet " + text + ": the port " + port.error().message);
  address.sin_port = htons(uint16_t(*port));
  return address;
}

// False on `stop` or after the deadline.
bool wait_readable(int fd, uint64_t deadline_ns,
                   const std::atomic<bool>& stop) {
  while (!stop && monotonic_ns() < deadline_ns) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, kSlice_ms) > 0) return true;
  }
  return false;
}

void send_at_once(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// Limits connect(2) as well; 0: no limit.
void set_send_timeout(int fd, int timeout_s) {
  const timeval timeout{timeout_s, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

Error not_all(const std::string& address) {
  return Error{Code::kUnavailable, ETIMEDOUT,
               "--meet " + address + ": not all ranks came"};
}

Result<std::vector<UniqueFd>> gather(const sockaddr_in& address,
                                     const std::string& text, unsigned others,
                                     uint64_t deadline_ns,
                                     const std::atomic<bool>& stop) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof address) != 0 ||
      ::listen(listener.get(), int(others)) != 0) {
    return system_error(errno, "--meet " + text);
  }
  std::vector<UniqueFd> joined;
  while (joined.size() < others) {
    if (!wait_readable(listener.get(), deadline_ns, stop)) return not_all(text);
    UniqueFd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) continue;
    send_at_once(peer.get());
    joined.push_back(std::move(peer));
  }
  return joined;
}

Result<UniqueFd> reach(const sockaddr_in& address, const std::string& text,
                       uint64_t deadline_ns, const std::atomic<bool>& stop) {
  while (!stop && monotonic_ns() < deadline_ns) {
    UniqueFd leader(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // connect(2) to a host that does not answer would take minutes.
    set_send_timeout(leader.get(), 1);
    if (::connect(leader.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == 0) {
      set_send_timeout(leader.get(), 0);
      send_at_once(leader.get());
      return leader;
    }
    ::poll(nullptr, 0, kSlice_ms);  // rank 0 may not listen yet
  }
  return not_all(text);
}

bool receive(int fd, const std::atomic<bool>& stop) {
  char byte = 0;
  return wait_readable(fd, UINT64_MAX, stop) && ::recv(fd, &byte, 1, 0) == 1;
}

bool send(int fd) { return ::send(fd, "x", 1, MSG_NOSIGNAL) == 1; }

}  // namespace

Result<Meeting> Meeting::join(const std::string& text, unsigned rank,
                              unsigned ranks, const std::atomic<bool>& stop) {
  Result<sockaddr_in> address = parse_address(text);
  if (!address) return std::move(address).error();
  if (rank >= ranks) return invalid("--meet: the rank is not under the ranks");
  const uint64_t deadline_ns =
      monotonic_ns() + uint64_t{kJoin_s} * 1'000'000'000;
  Meeting meeting;
  meeting.leads_ = rank == 0;
  if (meeting.leads_) {
    auto joined = gather(*address, text, ranks - 1, deadline_ns, stop);
    if (!joined) return std::move(joined).error();
    meeting.others_ = *std::move(joined);
    return meeting;
  }
  auto leader = reach(*address, text, deadline_ns, stop);
  if (!leader) return std::move(leader).error();
  meeting.others_.push_back(*std::move(leader));
  return meeting;
}

bool Meeting::wait(const std::atomic<bool>& stop) {
  if (!leads_) {
    return send(others_[0].get()) && receive(others_[0].get(), stop);
  }
  for (const UniqueFd& other : others_) {
    if (!receive(other.get(), stop)) return false;
  }
  for (const UniqueFd& other : others_) {
    if (!send(other.get())) return false;
  }
  return true;
}

}  // namespace penstock
