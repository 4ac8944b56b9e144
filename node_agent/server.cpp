#include "node_agent/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"

namespace penstock {
namespace {

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return system_error(errno, "SO_PEERCRED");
  }
  return Peer{credentials.pid, credentials.uid, credentials.gid};
}

bool lacks_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

std::vector<int> all_fds(const Answer& answer) {
  std::vector<int> fds = answer.fds;
  for (const UniqueFd& fd : answer.owned_fds) fds.push_back(fd.get());
  return fds;
}

// Never blocks: a peer that does not read its replies loses them.
void send_reply(int fd, uint32_t request_id, const Answer& answer) {
  penstock_reply reply{};
  reply.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, PENSTOCK_REPLY,
                  sizeof reply, request_id};
  reply.status = answer.status;
  reply.wants_notice = answer.wants_notice ? 1 : 0;
  const size_t length = std::min(answer.text.size(), sizeof reply.text - 1);
  std::memcpy(reply.text, answer.text.data(), length);

  const std::vector<int> fds = all_fds(answer);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  iovec part{&reply, sizeof reply};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty() && fds.size() <= 2) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  (void)::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Answer refuse(int error, std::string text) {
  return {error, std::move(text), {}, {}, true};
}

Answer refuse(const Error& error) {
  const int number = error.saved_errno != 0                  ? error.saved_errno
                     : error.code == Code::kNotFound         ? ENOENT
                     : error.code == Code::kPermissionDenied ? EPERM
                                                             : EINVAL;
  return refuse(number, error.message);
}

Result<std::unique_ptr<Server>> Server::serve(EventLoop& loop, UniqueFd socket,
                                              Handler handler) {
  std::unique_ptr<Server> server(new Server(loop, std::move(handler)));
  server->socket_ = std::move(socket);
  const int fd = server->socket_.get();
  Status watched = loop.watch(fd, [raw = server.get()] { raw->accept_all(); });
  if (!watched) return std::move(watched).error();
  Result<int> timer =
      loop.add_timer(0, [raw = server.get()] { raw->resume_paused(); });
  if (!timer) return std::move(timer).error();
  server->resume_timer_ = *timer;
  return server;
}

Server::~Server() {
  while (!connections_.empty()) close_connection(connections_.begin()->first);
  if (resume_timer_ >= 0) (void)loop_.set_period(resume_timer_, 0);
  if (socket_) loop_.forget(socket_.get());
}

// Root's connections are the plugin's and the administrator's. Users'
// connections must not exclude them.
bool Server::may_connect(uid_t uid, size_t all, size_t of_this_user) {
  return uid == 0 || (all < kMaxConnections && of_this_user < kMaxPerUser);
}

bool Server::has_room(uid_t uid) const {
  const auto same = std::count_if(
      connections_.begin(), connections_.end(),
      [&](const auto& entry) { return entry.second.peer.uid == uid; });
  return may_connect(uid, connections_.size(), static_cast<size_t>(same));
}

void Server::accept_all() {
  // Bounded, so that a flood of connections cannot starve other events.
  for (int i = 0; i < 64; ++i) {
    UniqueFd fd(::accept4(socket_.get(), nullptr, nullptr,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && lacks_resources(errno)) return pause_accepting();
    if (!fd) return;
    Result<Peer> peer = peer_of(fd.get());
    if (!peer || !has_room(peer->uid)) continue;
    const int raw = fd.get();
    if (!loop_.watch(raw, [this, raw] { receive(raw); })) continue;
    connections_[raw] = Connection{std::move(fd), *peer};
  }
}

// The socket stays readable, and would wake penstockd for ever.
void Server::pause_accepting() {
  loop_.forget(socket_.get());
  is_accepting_ = false;
  (void)loop_.set_period(resume_timer_, kResume_ms);
}

Answer Server::answer(std::span<const std::byte> packet, const Peer& peer) {
  Result<Message> message = decode_message(packet, limits_);
  if (!message) return {EINVAL, message.error().message, {}, {}, true};
  if (is_root_only(*message) && peer.uid != 0) {
    return {EPERM, "only root may send this", {}, {}, true};
  }
  return handler_(*message, peer);
}

void Server::receive(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const Peer peer = found->second.peer;
  // Others may have penstockd's CPU meanwhile: not the sender's fault.
  const uint64_t begun_cpu_ns = thread_cpu_ns();
  if (budget_.may_spend(peer.uid, monotonic_ns())) {
    take_message(fd, peer);
  } else {
    pause(fd);
  }
  budget_.charge(peer.uid, thread_cpu_ns() - begun_cpu_ns, monotonic_ns());
}

// Unread messages wait in the socket, and a full socket blocks the sender, so
// that no message is lost.
void Server::pause(int fd) {
  loop_.forget(fd);
  if (paused_.empty()) (void)loop_.set_period(resume_timer_, kResume_ms);
  paused_.push_back(fd);
}

void Server::resume_paused() {
  if (!is_accepting_) {
    is_accepting_ = loop_.watch(socket_.get(), [this] { accept_all(); }).ok();
  }
  const uint64_t now_ns = monotonic_ns();
  std::vector<int> still_paused;
  for (int fd : std::exchange(paused_, {})) {
    if (!budget_.may_spend(connections_.at(fd).peer.uid, now_ns)) {
      still_paused.push_back(fd);
    } else if (!loop_.watch(fd, [this, fd] { receive(fd); })) {
      close_connection(fd);
    }
  }
  paused_ = std::move(still_paused);
  if (paused_.empty() && is_accepting_) {
    (void)loop_.set_period(resume_timer_, 0);
  }
}

void Server::take_message(int fd, const Peer& peer) {
  // One byte more than the largest message, to detect longer ones.
  std::array<std::byte, PENSTOCK_MESSAGE_MAX_BYTES + 1> buffer;
  const ssize_t size = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    close_connection(fd);
    return;
  }
  const std::span packet(buffer.data(), static_cast<size_t>(size));
  const Answer reply = answer(packet, peer);
  if (reply.send) send_reply(fd, request_id_of(packet), reply);
}

void Server::close_connection(int fd) {
  loop_.forget(fd);
  connections_.erase(fd);
}

}  // namespace penstock
