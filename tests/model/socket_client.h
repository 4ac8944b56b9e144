// Sends packets to penstockd's socket as any process, and reads the replies.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <string>

#include "common/protocol.h"
#include "common/unique_fd.h"

namespace penstock::model {

class SocketClient {
 public:
  using OnReply = std::function<void(int status)>;

  explicit SocketClient(std::string path) : path_(std::move(path)) {}

  // The packet waits in the socket until penstockd's next turn. on_reply is
  // called from read_replies(), or never.
  void send(
      pid_t pid, uid_t uid, const void* packet, size_t size,
      OnReply on_reply = [](int) {});
  template <class Message>
  void send(
      pid_t pid, uid_t uid, uint16_t type, Message message,
      OnReply on_reply = [](int) {}) {
    message.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, type,
                      sizeof message, 1};
    send(pid, uid, &message, sizeof message, std::move(on_reply));
  }
  // Ends the connections that have got their reply, and the oldest others.
  void read_replies();
  void forget_all() { waiting_.clear(); }

 private:
  struct Waiting {
    UniqueFd fd;
    OnReply on_reply;
  };
  static constexpr size_t kMost = 8;

  std::string path_;
  std::list<Waiting> waiting_;
};

}  // namespace penstock::model
