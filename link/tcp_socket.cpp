#include "link/tcp_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

namespace penstock {
namespace {

constexpr int kBacklog = 4096;
// Bounds the kernel's memory for a connection whose data wait.
constexpr int kBufferBytes = 64 << 10;
// The part of an IPv6 address that one machine may vary at will comes after
// these.
constexpr size_t kNetworkBytes = 8;
// Where an IPv6 address has the IPv4 address that it stands for.
constexpr size_t kMappedAt = 12;

bool set(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

UniqueFd listen_on(const addrinfo& at) {
  UniqueFd fd(
      ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  const bool is_any = at.ai_family == AF_INET6 && (at.ai_flags & AI_PASSIVE);
  if (!set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      // Accepted connections inherit these.
      !set(fd.get(), SOL_SOCKET, SO_RCVBUF, kBufferBytes) ||
      !set(fd.get(), SOL_SOCKET, SO_SNDBUF, kBufferBytes) ||
      (at.ai_family == AF_INET6 &&
       !set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, is_any ? 0 : 1)) ||
      ::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return UniqueFd();
  }
  return fd;
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// host "": IPv6's wildcard, which takes IPv4's connections, too.
int resolve(const ListenAddress& address, int family, Addresses& found) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (address.host.empty() ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int failed =
      ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                    std::to_string(address.port).c_str(), &hints, &list);
  found.reset(failed == 0 ? list : nullptr);
  return failed;
}

Error cannot_listen(const ListenAddress& address, int error,
                    const std::string& reason) {
  return Error{Code::kUnavailable, error,
               "listening at " + address.to_string() + ": " + reason};
}

}  // namespace

std::string ListenAddress::to_string() const {
  const std::string text = host.empty() ? "*" : host;
  return (text.find(':') == text.npos ? text : "[" + text + "]") + ":" +
         std::to_string(port);
}

Result<std::vector<UniqueFd>> listen_at(const ListenAddress& address) {
  std::vector<UniqueFd> sockets;
  Addresses found(nullptr, ::freeaddrinfo);
  // A kernel without IPv6 has only the second kind of wildcard.
  const bool all = address.host.empty();
  for (const int family : {all ? AF_INET6 : AF_UNSPEC, AF_INET}) {
    if (const int failed = resolve(address, family, found); failed != 0) {
      return cannot_listen(address, 0, ::gai_strerror(failed));
    }
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      UniqueFd fd = listen_on(*at);
      if (fd) sockets.push_back(std::move(fd));
    }
    if (!sockets.empty()) return sockets;
    if (!all || errno != EAFNOSUPPORT) break;
  }
  const int error = errno;
  return cannot_listen(address, error, std::strerror(error));
}

int port_of(int listening) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return 0;
  }
  return ntohs(at.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(at).sin_port);
}

AcceptedSocket accept_from(int listening) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  AcceptedSocket accepted;
  accepted.fd.reset(::accept4(listening, reinterpret_cast<sockaddr*>(&from),
                              &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.fd) return accepted;
  set(accepted.fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET6) {
    in6_addr& it = reinterpret_cast<sockaddr_in6&>(from).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&it)) {
      ::inet_ntop(AF_INET, it.s6_addr + kMappedAt, text, sizeof text);
    } else {
      std::fill(it.s6_addr + kNetworkBytes, std::end(it.s6_addr), uint8_t{0});
      ::inet_ntop(AF_INET6, &it, text, sizeof text);
    }
  } else {
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(from).sin_addr, text,
                sizeof text);
  }
  accepted.network = text;
  return accepted;
}

}  // namespace penstock
