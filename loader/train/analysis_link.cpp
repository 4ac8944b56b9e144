#include "loader/train/analysis_link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace penstock {
namespace {

Error lost(int error) {
  return {Code::kUnavailable, error,
          "the connection to penstock analyze is lost"};
}

// SO_SNDTIMEO limits connect(2) as well.
UniqueFd connect_to(const addrinfo& where) {
  UniqueFd fd(::socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC,
                       where.ai_protocol));
  if (!fd) return fd;
  const timeval timeout{AnalysisLink::kConnect_ms / 1000, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(fd.get(), where.ai_addr, where.ai_addrlen) != 0) fd.reset();
  return fd;
}

}  // namespace

Result<AnalysisLink> AnalysisLink::connect(const AnalysisAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(),
                    &hints, &list);
  if (failed != 0) {
    return Error{Code::kUnavailable, 0,
                 address.host + ": " + ::gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      list, ::freeaddrinfo);
  for (const addrinfo* it = list; it != nullptr; it = it->ai_next) {
    UniqueFd fd = connect_to(*it);
    if (!fd) continue;
    const timeval timeout{kSend_ms / 1000, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    const int yes = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // The other machine may disappear without closing the connection.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    return AnalysisLink(std::move(fd));
  }
  return Error{Code::kUnavailable, errno,
               "penstock analyze at " + address.host + " port " +
                   std::to_string(address.port) + " cannot be reached"};
}

Status AnalysisLink::send(const AnalysisAnswer& answer) {
  const std::string line = to_line(answer);
  for (size_t done = 0; done < line.size();) {
    const ssize_t sent = ::send(socket_.get(), line.data() + done,
                                line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return lost(errno);
    done += static_cast<size_t>(sent);
  }
  return Done{};
}

Result<std::optional<AnalysisOrder>> AnalysisLink::take_line() {
  const size_t end = received_.find('\n');
  if (end == std::string::npos) {
    if (received_.size() <= kMaxAnalysisLineBytes) {
      return std::optional<AnalysisOrder>();
    }
    return invalid("penstock analyze sends a line over 64 KiB");
  }
  auto order = parse_order(std::string_view(received_).substr(0, end));
  received_.erase(0, end + 1);
  if (!order) return std::move(order.error()).wrap("penstock analyze");
  return std::optional<AnalysisOrder>(*std::move(order));
}

Result<std::optional<AnalysisOrder>> AnalysisLink::receive(int timeout_ms) {
  for (;;) {
    auto order = take_line();
    if (!order || *order) return order;
    pollfd ready{socket_.get(), POLLIN, 0};
    const int count = ::poll(&ready, 1, timeout_ms);
    if (count < 0 && errno != EINTR) return lost(errno);
    if (count <= 0) return std::optional<AnalysisOrder>();
    char bytes[4096];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return lost(got < 0 ? errno : 0);
    received_.append(bytes, static_cast<size_t>(got));
  }
}

}  // namespace penstock
