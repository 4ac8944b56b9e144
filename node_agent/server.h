// penstockd's unix socket: accepts connections, limits and decodes messages,
// passes them to a handler, sends replies. Knows nothing about jobs.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/unique_fd.h"
#include "common/user_budget.h"
#include "node_agent/messages.h"

namespace penstock {

// A message's sender, from the kernel (SO_PEERCRED, as of connect).
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Answer {
  int status = 0;                   // 0 or an errno value
  std::string text;                 // reason, one line; truncated to its field
  std::vector<int> fds;             // at most 2; not closed by the server
  std::vector<UniqueFd> owned_fds;  // also sent, then closed
  bool send = true;                 // false: this message has no reply
  bool wants_notice = false;        // of a TASK_START
};

// Answers that refuse a request; int error: an errno value.
Answer refuse(int error, std::string text);
Answer refuse(const Error& error);

class Server {
 public:
  // Called for each well-formed message.
  using Handler = std::function<Answer(const Message&, const Peer&)>;

  // socket: listens (common/listening_socket.h).
  // Errors: kIo  the event loop cannot watch it
  static Result<std::unique_ptr<Server>> serve(EventLoop& loop, UniqueFd socket,
                                               Handler handler);
  ~Server();

  void set_limits(const OptionLimits& limits) { limits_ = limits; }

  // Limits of connections, per user and in total; root is exempt. Further
  // connections are closed at once.
  static constexpr size_t kMaxPerUser = 512;
  static constexpr size_t kMaxConnections = 4096;
  static bool may_connect(uid_t uid, size_t all, size_t of_this_user);
  // Interval for checking the paused connections of users without budget, and
  // for accepting again after a lack of descriptors or memory.
  static constexpr uint64_t kResume_ms = 20;

 private:
  struct Connection {
    UniqueFd fd;
    Peer peer;
  };

  Server(EventLoop& loop, Handler handler)
      : loop_(loop), handler_(std::move(handler)) {}

  void accept_all();
  void pause_accepting();
  void receive(int fd);
  void take_message(int fd, const Peer& peer);
  void pause(int fd);
  void resume_paused();
  void close_connection(int fd);
  bool has_room(uid_t uid) const;
  Answer answer(std::span<const std::byte> packet, const Peer& peer);

  EventLoop& loop_;
  Handler handler_;
  OptionLimits limits_;
  UniqueFd socket_;
  bool is_accepting_ = true;  // false: a lack of descriptors or memory
  std::map<int, Connection> connections_;
  UserBudget budget_;
  std::vector<int> paused_;  // unwatched connections, oldest first
  int resume_timer_ = -1;
};

}  // namespace penstock
