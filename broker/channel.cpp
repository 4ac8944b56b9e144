#include "broker/channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace penstock {
namespace {

constexpr const char* kWhat = "the broker's socket";
constexpr size_t kControlBytes = CMSG_SPACE(Datagram::kMost * sizeof(int));

Error failed(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) {
    return Error{Code::kUnavailable, ETIMEDOUT,
                 std::string(kWhat) + ": no answer in time"};
  }
  return system_error(error, kWhat);
}

std::vector<UniqueFd> descriptors_in(msghdr& message) {
  std::vector<UniqueFd> out;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS) {
    return out;
  }
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    out.emplace_back(fd);
  }
  return out;
}

}  // namespace

Status send_datagram(int socket, std::span<const std::byte> bytes,
                     std::span<const int> fds) {
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return failed(errno);
  }
  return Done{};
}

Result<Datagram> receive_datagram(int socket, size_t max_bytes) {
  Datagram got;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(max_bytes);
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  iovec part{buffer.get(), max_bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  while ((size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno != EINTR) return failed(errno);
  }
  got.fds = descriptors_in(message);
  // More descriptors than there is room for are closed by the kernel.
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return Error{Code::kLimit, EMSGSIZE,
                 std::string(kWhat) + ": a message is too long"};
  }
  got.bytes.assign(buffer.get(), buffer.get() + size);
  return got;
}

}  // namespace penstock
