#include "link/zmq_socket.h"

#include <cerrno>
#include <optional>

#include "link/credential.h"
#include "link/heartbeats.h"

namespace penstock {
namespace {

constexpr int kLinger_ms = 0;
constexpr int kReconnect_ms = 100;
constexpr int kReconnectMost_ms = 2000;

Error zmq_error(const std::string& what) {
  return Error{Code::kUnavailable, zmq_errno(),
               what + ": " + zmq_strerror(zmq_errno())};
}

bool set(void* socket, int option, int value) {
  return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

// Receives one part; nullopt: none available.
std::optional<std::string> receive_part(void* socket, bool& more) {
  zmq_msg_t part;
  zmq_msg_init(&part);
  std::optional<std::string> text;
  if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) >= 0) {
    text.emplace(static_cast<const char*>(zmq_msg_data(&part)),
                 zmq_msg_size(&part));
    more = zmq_msg_more(&part) != 0;
  }
  zmq_msg_close(&part);
  return text;
}

}  // namespace

Result<ZmqContext> ZmqContext::create(int max_sockets) {
  ZmqContext context;
  context.it_.reset(zmq_ctx_new());
  if (!context.it_) return zmq_error("libzmq");
  if (zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, max_sockets) != 0) {
    return zmq_error("ZMQ_MAX_SOCKETS");
  }
  return context;
}

Result<ZmqSocket> ZmqSocket::open(const ZmqContext& context) {
  ZmqSocket socket;
  socket.it_.reset(zmq_socket(context.get(), ZMQ_DEALER));
  if (!socket.it_) return zmq_error("a ZeroMQ socket");
  void* it = socket.get();
  const int64_t largest = kMaxCredentialBytes;
  const bool done =
      set(it, ZMQ_LINGER, kLinger_ms) && set(it, ZMQ_IPV6, 1) &&
      set(it, ZMQ_HEARTBEAT_IVL, kHeartbeat_ms) &&
      set(it, ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatTimeout_ms) &&
      zmq_setsockopt(it, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0;
  if (!done) return zmq_error("a ZeroMQ socket's options");
  return socket;
}

Result<ZmqSocket> ZmqSocket::connect(const ZmqContext& context,
                                     const std::string& endpoint, bool watch) {
  Result<ZmqSocket> socket = open(context);
  if (!socket) return socket;
  // IMMEDIATE: without a connection sending fails. By default it is queued.
  if (!set(socket->get(), ZMQ_IMMEDIATE, 1) ||
      !set(socket->get(), ZMQ_RECONNECT_IVL, kReconnect_ms) ||
      !set(socket->get(), ZMQ_RECONNECT_IVL_MAX, kReconnectMost_ms)) {
    return zmq_error("a ZeroMQ socket's options");
  }
  if (watch) {
    Status watched = socket->watch_connections(context);
    if (!watched) return std::move(watched).error();
  }
  if (zmq_connect(socket->get(), endpoint.c_str()) != 0) {
    return zmq_error("connecting to " + endpoint);
  }
  return socket;
}

Status ZmqSocket::watch_connections(const ZmqContext& context) {
  const std::string name =
      "inproc://connections-" +
      std::to_string(reinterpret_cast<uintptr_t>(it_.get()));
  if (zmq_socket_monitor(get(), name.c_str(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED) !=
      0) {
    return zmq_error("watching connections");
  }
  monitor_.reset(zmq_socket(context.get(), ZMQ_PAIR));
  if (!monitor_ || !set(monitor_.get(), ZMQ_LINGER, kLinger_ms) ||
      zmq_connect(monitor_.get(), name.c_str()) != 0) {
    return zmq_error("watching connections");
  }
  return Done{};
}

bool ZmqSocket::take_connected() {
  bool any = false;
  bool more = false;
  // Two parts per event: the event, which can only be the requested one, and
  // the address.
  while (monitor_ && receive_part(monitor_.get(), more)) any = true;
  return any;
}

Status ZmqSocket::send(std::string_view text) {
  if (zmq_send(get(), text.data(), text.size(), ZMQ_DONTWAIT) < 0) {
    return zmq_error("sending");
  }
  return Done{};
}

Result<std::string> ZmqSocket::receive() {
  bool more = false;
  std::optional<std::string> part = receive_part(get(), more);
  if (!part) return Error{Code::kUnavailable, EAGAIN, "nothing to read"};
  if (!more) return *std::move(part);
  while (more && receive_part(get(), more)) {
  }
  return invalid("a message of several parts");
}

int ZmqSocket::ready_fd() const {
  int fd = -1;
  size_t size = sizeof fd;
  return zmq_getsockopt(get(), ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}

}  // namespace penstock
