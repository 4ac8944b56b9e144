// penstockd's unix socket: accepts, bounds and checks what comes in, hands
// decoded messages on, sends replies. Knows nothing of jobs.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/unique_fd.h"
#include "node_agent/messages.h"
#include "node_agent/user_budget.h"

namespace penstock {

// Who sent a message, as the kernel says (SO_PEERCRED, at connect).
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Answer {
  int status = 0;                   // 0 or an errno value
  std::string text;                 // why, one line; cut to its field
  std::vector<int> fds;             // at most 2; stay the caller's
  std::vector<UniqueFd> owned_fds;  // sent too, closed after sending
  bool send = true;                 // false: this message has no reply
};

class Server {
 public:
  // Called for each well-formed message.
  using Handler = std::function<Answer(const Message&, const Peer&)>;

  // Listens on path: mode 0666: every user's jobs speak to it. A dead socket
  // there is replaced; a live one is an error. Errors: kInvalidArgument  path
  // too long; another daemon listens there
  //         kIo, kPermissionDenied
  static Result<std::unique_ptr<Server>> listen(EventLoop& loop,
                                                const std::string& path,
                                                Handler handler);
  ~Server();  // removes the socket

  void set_limits(const OptionLimits& limits) { limits_ = limits; }

  // More connections than these are closed at once: per user, and in all; but
  // for root's.
  static constexpr size_t kMaxPerUser = 512;
  static constexpr size_t kMaxConnections = 4096;
  static bool may_connect(uid_t uid, size_t all, size_t of_this_user);
  // Connections of a user whose budget is spent are looked at this often.
  static constexpr uint64_t kResume_ms = 20;

 private:
  struct Connection {
    UniqueFd fd;
    Peer peer;
  };

  Server(EventLoop& loop, std::string path, Handler handler)
      : loop_(loop), path_(std::move(path)), handler_(std::move(handler)) {}

  void accept_all();
  void receive(int fd);
  void take_message(int fd, const Peer& peer);
  void pause(int fd);
  void resume_paused();
  void close_connection(int fd);
  bool has_room(uid_t uid) const;
  Answer answer(std::span<const std::byte> packet, const Peer& peer);

  EventLoop& loop_;
  std::string path_;
  Handler handler_;
  OptionLimits limits_;
  UniqueFd socket_;
  UniqueFd reserve_;  // given up to refuse a connection when no fd is left
  std::map<int, Connection> connections_;
  UserBudget budget_;
  std::vector<int> paused_;  // connections that are not watched, in turn
  int resume_timer_ = -1;
};

}  // namespace penstock
