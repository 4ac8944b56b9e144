#include "tools/penstock/client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>

#include "common/protocol.h"
#include "common/socket_call.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "report/json.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr uint32_t kRequestId = 1;

Error unavailable(int error, const std::string& path) {
  bool late = error == EAGAIN || error == EWOULDBLOCK;
  return Error{
      Code::kUnavailable, error,
      "penstockd at " + path +
          (late ? std::string(" does not answer")
                : std::string(" cannot be reached: ") + std::strerror(error))};
}

// Another user's socket could send any reply.
Status check_peer(int fd, const std::string& path) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return system_error(errno, path);
  }
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    return Error{Code::kPermissionDenied, 0,
                 path + " is served by user " + std::to_string(peer.uid) +
                     ", not by root"};
  }
  return Done{};
}

Result<UniqueFd> connect_to(const std::string& path, int timeout_ms,
                            uint64_t deadline_ns) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return invalid("the socket's path " + path + " is too long");
  }
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return system_error(errno, "cannot create a socket");
  // SO_SNDTIMEO also limits connect(), which waits for room in the listen
  // queue.
  timeval timeout{timeout_ms / 1000, timeout_ms % 1000 * 1000L};
  for (int option : {SO_SNDTIMEO, SO_RCVTIMEO}) {
    ::setsockopt(fd.get(), SOL_SOCKET, option, &timeout, sizeof(timeout));
  }
  const int connected = call_until(deadline_ns, [&] {
    return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof(address));
  });
  if (connected != 0) {
    return unavailable(errno, path);
  }
  Status peer = check_peer(fd.get(), path);
  if (!peer) return std::move(peer).error();
  return fd;
}

template <class Request>
Status send_request(int fd, const Request& request, const std::string& path,
                    uint64_t deadline_ns) {
  const ssize_t sent = call_until(deadline_ns, [&] {
    return ::send(fd, &request, sizeof(request), MSG_NOSIGNAL);
  });
  if (sent != static_cast<ssize_t>(sizeof(request))) {
    return unavailable(errno, path);
  }
  return Done{};
}

// Takes the first descriptor of a message and closes all others.
UniqueFd take_descriptor(msghdr& message) {
  UniqueFd taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      UniqueFd received(fd);
      if (!taken) taken = std::move(received);
    }
  }
  return taken;
}

Result<UniqueFd> receive_reply(int fd, penstock_reply& reply,
                               const std::string& path, uint64_t deadline_ns) {
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  iovec data{&reply, sizeof(reply)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = call_until(
      deadline_ns, [&] { return ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC); });
  if (got < 0) return unavailable(errno, path);
  UniqueFd document = take_descriptor(message);
  if (got == 0) return unavailable(ECONNRESET, path);
  const penstock_header& header = reply.header;
  if (got != sizeof(reply) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
      header.magic != PENSTOCK_MAGIC || header.type != PENSTOCK_REPLY ||
      header.size_bytes != sizeof(reply) || header.request_id != kRequestId) {
    return invalid("the answer of " + path + " is malformed");
  }
  if (header.version != PENSTOCK_PROTOCOL_VERSION) {
    return invalid("penstockd at " + path + " speaks protocol version " +
                   std::to_string(header.version) + ", this command " +
                   std::to_string(PENSTOCK_PROTOCOL_VERSION));
  }
  return document;
}

Error refusal(const penstock_reply& reply) {
  std::string text(reply.text, ::strnlen(reply.text, sizeof(reply.text)));
  text = printable(text, text.size());
  if (reply.status < 0) return invalid("the answer's status is malformed");
  Error error = system_error(reply.status, "penstockd refuses");
  if (!text.empty()) error.message = "penstockd: " + text;
  return error;
}

template <class Request>
Result<std::string> ask(const std::string& socket_path,
                        penstock_message_type type, Request request,
                        int timeout_ms) {
  request.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                    static_cast<uint16_t>(type), sizeof(request), kRequestId};
  const uint64_t deadline_ns =
      monotonic_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  Result<UniqueFd> fd = connect_to(socket_path, timeout_ms, deadline_ns);
  if (!fd) return std::move(fd).error();
  Status sent = send_request(fd->get(), request, socket_path, deadline_ns);
  if (!sent) return std::move(sent).error();
  penstock_reply reply{};
  Result<UniqueFd> document =
      receive_reply(fd->get(), reply, socket_path, deadline_ns);
  if (!document) return std::move(document).error();
  if (reply.status != 0) return refusal(reply);
  if (!*document) {
    return invalid("the answer of " + socket_path + " holds no document");
  }
  return read_descriptor(document->get(), "penstockd's answer",
                         kMaxReportJsonBytes);
}

}  // namespace

Result<std::string> ask_status(const std::string& socket_path, uint32_t job_id,
                               int timeout_ms) {
  penstock_status request{};
  request.job_id = job_id;
  return ask(socket_path, PENSTOCK_STATUS, request, timeout_ms);
}

Result<std::string> ask_switch(const std::string& socket_path, bool off,
                               int timeout_ms) {
  penstock_switch request{};
  request.off = off ? 1 : 0;
  return ask(socket_path, PENSTOCK_SWITCH, request, timeout_ms);
}

}  // namespace penstock
