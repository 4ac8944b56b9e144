#include "spank_plugin/agent_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/unique_fd.h"

namespace penstock::spank {
namespace {

constexpr uint64_t kNsPerMs = 1000000;

Outcome connect_to(const char* socket_path, uid_t owner, UniqueFd& link) {
  link.reset(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!link) return Outcome::kAbsent;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
  if (::connect(link.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0)
    return errno == EAGAIN ? Outcome::kBusy : Outcome::kAbsent;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(link.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != owner)
    return Outcome::kNotOurs;
  return Outcome::kDone;
}

Outcome connect_and_send(const char* socket_path, uid_t owner,
                         const void* message, size_t size_bytes,
                         UniqueFd& link) {
  const Outcome outcome = connect_to(socket_path, owner, link);
  if (outcome != Outcome::kDone) return outcome;
  const ssize_t sent =
      ::send(link.get(), message, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(size_bytes)) return Outcome::kDone;
  return sent < 0 && errno == EAGAIN ? Outcome::kBusy : Outcome::kBadReply;
}

// False if fd is not readable before deadline_ns.
bool wait_readable(int fd, uint64_t deadline_ns) {
  for (;;) {
    const uint64_t now = monotonic_ns();
    if (now >= deadline_ns) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int timeout_ms =
        static_cast<int>((deadline_ns - now + kNsPerMs - 1) / kNsPerMs);
    if (::poll(&waiting, 1, timeout_ms) > 0) return true;
  }
}

bool is_reply_to(const penstock_reply& reply, const penstock_header& request) {
  return reply.header.magic == PENSTOCK_MAGIC &&
         reply.header.version == PENSTOCK_PROTOCOL_VERSION &&
         reply.header.type == PENSTOCK_REPLY &&
         reply.header.size_bytes == sizeof reply &&
         reply.header.request_id == request.request_id;
}

}  // namespace

const char* outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kAbsent:
      return "penstockd does not answer at its socket";
    case Outcome::kNotOurs:
      return "the socket's listener is not root";
    case Outcome::kBusy:
      return "penstockd's queue is full";
    case Outcome::kTimedOut:
      return "penstockd did not reply in time";
    case Outcome::kBadReply:
      return "penstockd's reply is not valid";
  }
  return "unknown";
}

Outcome send_message(const char* socket_path, uid_t owner, const void* message,
                     size_t size_bytes) {
  UniqueFd link;
  return connect_and_send(socket_path, owner, message, size_bytes, link);
}

Outcome request(const char* socket_path, uid_t owner, const void* message,
                size_t size_bytes, WaitBudget& budget, penstock_reply& reply) {
  const uint64_t start = monotonic_ns();
  UniqueFd link;
  Outcome outcome =
      connect_and_send(socket_path, owner, message, size_bytes, link);
  // Retry: a user may fill the queue to keep the plugin out.
  while (outcome == Outcome::kBusy && monotonic_ns() < start + budget.left_ns) {
    const timespec pause{0, 2 * static_cast<long>(kNsPerMs)};
    ::nanosleep(&pause, nullptr);
    outcome = connect_and_send(socket_path, owner, message, size_bytes, link);
  }
  if (outcome == Outcome::kBusy) budget.left_ns = 0;
  if (outcome != Outcome::kDone) return outcome;
  if (!wait_readable(link.get(), start + budget.left_ns)) {
    budget.left_ns = 0;
    return Outcome::kTimedOut;
  }
  budget.left_ns -= std::min(budget.left_ns, monotonic_ns() - start);
  penstock_reply received{};
  const ssize_t bytes =
      ::recv(link.get(), &received, sizeof received, MSG_DONTWAIT | MSG_TRUNC);
  penstock_header header{};
  std::memcpy(&header, message, sizeof header);
  if (bytes != sizeof received || !is_reply_to(received, header))
    return Outcome::kBadReply;
  reply = received;
  return Outcome::kDone;
}

}  // namespace penstock::spank
