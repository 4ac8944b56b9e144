#include "common/listening_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace penstock {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return invalid("SocketPath=" + path + ": " + std::to_string(path.size()) +
                   " bytes; allowed: 1 to " +
                   std::to_string(sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd make_socket() {
  return UniqueFd(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Status refuse_live_socket(const sockaddr_un& address, const std::string& path) {
  UniqueFd probe = make_socket();
  if (!probe) return system_error(errno, "socket");
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) == 0 ||
      errno == EAGAIN) {
    return invalid(path +
                   ": another penstockd listens there; stop it, or set another "
                   "StateDir, SocketPath and CgroupName");
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Done{};
  if (!S_ISSOCK(found.st_mode)) {
    return invalid(path + ": exists and is not a socket; remove it");
  }
  if (::unlink(path.c_str()) != 0) return system_error(errno, path);
  return Done{};
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return std::move(address).error();
  Status free = refuse_live_socket(*address, path);
  if (!free) return std::move(free).error();
  UniqueFd fd = make_socket();
  if (!fd) return system_error(errno, "socket");
  // Not chmod(): the folder may be another user's, who could replace the socket
  // by a link.
  const mode_t before = ::umask(0111);
  const int bound = ::bind(
      fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  ::umask(before);
  if (bound != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return system_error(errno, path);
  }
  return fd;
}

}  // namespace penstock
