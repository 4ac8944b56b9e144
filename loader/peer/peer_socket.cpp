#include "loader/peer/peer_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "common/checksum.h"

namespace penstock {
namespace {

constexpr int kBacklog = 256;

void set_port(PeerAddress& address, uint16_t port) {
  if (address.it.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address.it).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address.it).sin_port = htons(port);
  }
}

Result<PeerAddress> look_up(const std::string& name, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return Error{Code::kNotFound, 0, name + ": " + ::gai_strerror(error)};
  }
  PeerAddress address;
  address.bytes = found->ai_addrlen;
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<char*>(&address.it));
  ::freeaddrinfo(found);
  return address;
}

UnforkedFd stream_socket(int family) {
  return UnforkedFd([family] {
    return UniqueFd(
        ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  });
}

// Wildcard addresses: IPv6, which accepts IPv4 too, then IPv4 for machines
// without IPv6.
std::vector<PeerAddress> any_addresses() {
  PeerAddress six, four;
  auto& in6 = reinterpret_cast<sockaddr_in6&>(six.it);
  in6.sin6_family = AF_INET6;
  in6.sin6_addr = in6addr_any;
  six.bytes = sizeof in6;
  auto& in4 = reinterpret_cast<sockaddr_in&>(four.it);
  in4.sin_family = AF_INET;
  in4.sin_addr.s_addr = htonl(INADDR_ANY);
  four.bytes = sizeof in4;
  return {six, four};
}

// Errors: kUnavailable  the port is taken or privileged; kIo
Result<UnforkedFd> listen_at(PeerAddress address, uint16_t port) {
  UnforkedFd fd = stream_socket(address.it.ss_family);
  if (!fd) return system_error(errno, "no socket");
  const int on = 1, off = 0;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.it.ss_family == AF_INET6) {
    (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  set_port(address, port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.it),
             address.bytes) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE || errno == EACCES) {
      return Error{Code::kUnavailable, errno, "taken"};
    }
    return system_error(errno, "port " + std::to_string(port));
  }
  return fd;
}

}  // namespace

std::vector<uint16_t> candidate_ports(const std::string& what,
                                      uint64_t fingerprint, uint16_t first,
                                      uint16_t last) {
  const uint64_t range = uint64_t{last} - first + 1;
  std::vector<uint16_t> ports;
  for (uint64_t i = 0; ports.size() < std::min<uint64_t>(kPeerPorts, range);
       ++i) {
    const uint64_t hash = checksum(what, fingerprint + i);
    const auto port = static_cast<uint16_t>(first + hash % range);
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) {
      ports.push_back(port);
    }
  }
  return ports;
}

Result<PeerAddress> resolve_peer(const std::string& node) {
  return look_up(node, AI_ADDRCONFIG);
}

Result<PeerListener> listen_for_peers(const std::string& address,
                                      const std::vector<uint16_t>& ports) {
  std::vector<PeerAddress> addresses = any_addresses();
  if (!address.empty()) {
    auto found = look_up(address, AI_NUMERICHOST);
    if (!found) return invalid("address " + std::move(found).error().message);
    addresses = {*found};
  }
  Error last{Code::kUnavailable, EADDRINUSE, "no port"};
  for (const PeerAddress& at : addresses) {
    for (const uint16_t port : ports) {
      auto fd = listen_at(at, port);
      if (fd) return PeerListener{*std::move(fd), port};
      last = std::move(fd).error();
      if (last.code != Code::kUnavailable) break;
    }
    // All ports are taken: IPv4 would not find a free one either.
    if (last.code == Code::kUnavailable) break;
  }
  if (last.code != Code::kUnavailable) return last;
  return Error{Code::kUnavailable, EADDRINUSE,
               "all " + std::to_string(ports.size()) + " ports, of which " +
                   std::to_string(ports.front()) + " is the first, are taken"};
}

// The kernel assigns the lowest free number, so fd shows how many are in use.
bool can_spare(int fd) {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) != 0 ||
         static_cast<rlim_t>(fd) < files.rlim_cur - files.rlim_cur / 4;
}

Result<UnforkedFd> connect_peer(PeerAddress address, uint16_t port) {
  UnforkedFd fd = stream_socket(address.it.ss_family);
  if (!fd) return system_error(errno, "no socket");
  if (!can_spare(fd.get())) {
    return Error{Code::kLimit, 0,
                 "three quarters of the descriptors that this process may have "
                 "(ulimit -n) are taken"};
  }
  set_port(address, port);
  set_peer_options(fd.get());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.it),
                address.bytes) != 0 &&
      errno != EINPROGRESS) {
    if (errno == ECONNREFUSED) {
      return Error{Code::kUnavailable, errno, "no process listens"};
    }
    return system_error(errno, "cannot connect");
  }
  return fd;
}

int connect_outcome(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

void set_peer_options(int fd) {
  const int on = 1, idle_s = 10, every_s = 5, count = 3;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

PeerReceived receive(int fd, PeerInput& input) {
  std::span<uint8_t> room;
  try {
    room = input.room();
  } catch (const std::bad_alloc&) {
    return PeerReceived::kEnd;
  }
  ssize_t got = 0;
  do {
    got = ::recv(fd, room.data(), room.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    input.add(static_cast<size_t>(got));
    return PeerReceived::kSome;
  }
  return got < 0 && errno == EAGAIN ? PeerReceived::kNothing
                                    : PeerReceived::kEnd;
}

PeerNonce random_nonce() {
  PeerNonce nonce{};
  // getrandom(2) does not return short for up to 256 bytes.
  (void)!::getrandom(nonce.data(), nonce.size(), 0);
  return nonce;
}

}  // namespace penstock
