#include "cgroup/proc_events.h"

#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "cgroup/proc_event_kinds.h"

namespace penstock {
namespace {

constexpr int kReceiveBufferBytes = 4 << 20;  // about 10,000 events
constexpr size_t kDatagramBytes = 4096;
constexpr std::chrono::milliseconds kAckTimeout{200};

using Bytes = std::span<const std::byte>;

template <class T>
bool take(Bytes& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

// Removes one netlink message from the datagram. nullopt if it is malformed or
// not from the proc connector.
std::optional<proc_event> take_event(Bytes& datagram) {
  Bytes rest = datagram;
  nlmsghdr header;
  if (!take(rest, header) || header.nlmsg_len < sizeof header ||
      header.nlmsg_len > datagram.size()) {
    return {};
  }
  rest = rest.first(header.nlmsg_len - sizeof header);
  cn_msg connector;
  if (!take(rest, connector) || connector.id.idx != CN_IDX_PROC ||
      connector.id.val != CN_VAL_PROC || connector.len > rest.size()) {
    return {};
  }
  // The union's size differs between kernels; missing bytes stay 0.
  rest = rest.first(connector.len);
  if (rest.size() < offsetof(proc_event, event_data)) return {};
  proc_event event{};
  std::memcpy(&event, rest.data(), std::min(rest.size(), sizeof event));
  datagram = datagram.subspan(
      std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  return event;
}

std::optional<ProcEvent> translate(const proc_event& from) {
  ProcEvent to;
  to.time_ns = from.timestamp_ns;
  auto whom = [&to](const auto& data) {
    to.tid = data.process_pid;
    to.pid = data.process_tgid;
  };
  const auto& data = from.event_data;
  switch (static_cast<uint32_t>(from.what)) {
    case ProcEventKinds::kFork:
      to.kind = ProcEvent::Kind::kFork;
      to.tid = data.fork.child_pid;
      to.pid = data.fork.child_tgid;
      to.parent_pid = data.fork.parent_tgid;
      return to;
    case ProcEventKinds::kExec:
      to.kind = ProcEvent::Kind::kExec;
      whom(data.exec);
      return to;
    case ProcEventKinds::kExit:
      to.kind = ProcEvent::Kind::kExit;
      whom(data.exit);
      to.parent_pid = data.exit.parent_tgid;
      return to;
    case ProcEventKinds::kComm:
      to.kind = ProcEvent::Kind::kComm;
      whom(data.comm);
      return to;
    default:
      return {};
  }
}

Status send_listen(int fd) {
  const proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
  cn_msg connector{};
  connector.id = {CN_IDX_PROC, CN_VAL_PROC};
  connector.len = sizeof op;
  std::byte message[NLMSG_LENGTH(sizeof connector + sizeof op)]{};
  nlmsghdr header{};
  header.nlmsg_len = sizeof message;
  header.nlmsg_type = NLMSG_DONE;
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + NLMSG_HDRLEN, &connector, sizeof connector);
  std::memcpy(message + NLMSG_HDRLEN + sizeof connector, &op, sizeof op);
  if (send(fd, message, sizeof message, 0) !=
      static_cast<ssize_t>(sizeof message)) {
    return system_error(errno, "proc connector: cannot subscribe");
  }
  return Done{};
}

// Receives one datagram from the kernel; empty if none is available.
Result<Bytes> receive(int fd, std::span<std::byte> buffer) {
  for (;;) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof from;
    ssize_t n = recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT,
                         reinterpret_cast<sockaddr*>(&from), &from_size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return Bytes{};
    if (n < 0) return system_error(errno, "proc connector");
    if (n > 0 && from.nl_pid == 0) {
      return Bytes(buffer.first(static_cast<size_t>(n)));
    }
  }
}

Status wait_for_ack(int fd) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + kAckTimeout;
  std::byte buffer[kDatagramBytes];
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0 ||
        poll(&waiting, 1, static_cast<int>(left.count()) + 1) == 0) {
      return Error{Code::kUnavailable, 0,
                   "proc connector: the kernel did not answer; it needs "
                   "CONFIG_PROC_EVENTS and the first user and pid namespaces"};
    }
    auto datagram = receive(fd, buffer);
    if (!datagram) continue;  // after an overflow the answer may still come
    while (auto event = take_event(*datagram)) {
      if (static_cast<uint32_t>(event->what) != ProcEventKinds::kNone) {
        continue;
      }
      int error = static_cast<int>(event->event_data.ack.err);
      if (error == 0) return Done{};
      return system_error(error, "proc connector: refused");
    }
  }
}

}  // namespace

Status decode_proc_events(std::span<const std::byte> datagram,
                          std::vector<ProcEvent>& events) {
  while (!datagram.empty()) {
    auto event = take_event(datagram);
    if (!event) return invalid("not a message of the proc connector");
    if (auto known = translate(*event)) events.push_back(std::move(*known));
  }
  return Done{};
}

Result<ProcEvents> ProcEvents::subscribe() {
  UniqueFd fd(socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                     NETLINK_CONNECTOR));
  if (!fd) {
    Error error = system_error(errno, "proc connector: no netlink socket");
    if (error.code == Code::kIo) error.code = Code::kUnavailable;
    return error;
  }
  // Best effort: the default buffer overflows earlier, which read() reports.
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes,
                   sizeof kReceiveBufferBytes);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = CN_IDX_PROC;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0) {
    return system_error(errno, "proc connector: cannot bind");
  }
  Status sent = send_listen(fd.get());
  if (!sent) return sent.error();
  Status answered = wait_for_ack(fd.get());
  if (!answered) return answered.error();
  return ProcEvents(std::move(fd));
}

Result<ProcEvents::Batch> ProcEvents::read(size_t max_datagrams) {
  Batch batch;
  std::byte buffer[kDatagramBytes];
  for (size_t i = 0; i < max_datagrams; ++i) {
    auto datagram = receive(socket_.get(), buffer);
    if (!datagram && datagram.error().saved_errno == ENOBUFS) {
      batch.lost = true;
      continue;
    }
    if (!datagram) return datagram.error();
    if (datagram->empty()) return batch;
    (void)decode_proc_events(*datagram, batch.events);
  }
  batch.more = true;
  return batch;
}

}  // namespace penstock
