#include "tests/model/socket_client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "tests/model/calls.h"

namespace penstock::model {

void SocketClient::send(pid_t pid, uid_t uid, const void* packet, size_t size,
                        OnReply on_reply) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  calls->peer = {pid, uid, uid};
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
    return;  // penstockd is down
  }
  (void)!::send(fd.get(), packet, size, MSG_NOSIGNAL);
  waiting_.push_back({std::move(fd), std::move(on_reply)});
}

void SocketClient::read_replies() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    penstock_reply reply{};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    iovec part{&reply, sizeof reply};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got =
        ::recvmsg(it->fd.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && waiting_.size() < kMost) {
      ++it;
      continue;
    }
    for (cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
         header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        UniqueFd closes(fd);
      }
    }
    if (got == sizeof reply) it->on_reply(reply.status);
    it = waiting_.erase(it);
  }
}

}  // namespace penstock::model
