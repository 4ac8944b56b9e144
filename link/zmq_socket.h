// The part of libzmq that Penstock needs, with owners and Results: the
// connecting end. listener.h is the other one. Not thread-safe: a socket
// belongs to one thread.
#pragma once

#include <zmq.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

class ZmqContext {
 public:
  // max_sockets  over libzmq's default 1023 if one process plays many agents
  static Result<ZmqContext> create(int max_sockets = 64);
  void* get() const { return it_.get(); }

 private:
  struct Term {
    void operator()(void* context) const { zmq_ctx_term(context); }
  };
  std::unique_ptr<void, Term> it_;
};

class ZmqSocket {
 public:
  // Reconnects automatically. Without a connection nothing is
  // queued; sending fails.
  //   watch  take_connected() reports connections
  static Result<ZmqSocket> connect(const ZmqContext& context,
                                   const std::string& endpoint,
                                   bool watch = true);

  // Sends without waiting.
  // Errors: kUnavailable  no connection, or its queue is full
  [[nodiscard]] Status send(std::string_view text);

  // Errors: kUnavailable      nothing to read now
  //         kInvalidArgument  a message of other than one part: discarded
  [[nodiscard]] Result<std::string> receive();

  // True if a connection was established since the last call.
  bool take_connected();

  // Edge-triggered: readable once when messages may have arrived. Then, and
  // after each send(), call receive() until nothing is left. -1 on error.
  int ready_fd() const;

  void* get() const { return it_.get(); }
  void* connections() const { return monitor_.get(); }  // may be null

 private:
  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  static Result<ZmqSocket> open(const ZmqContext& context);
  [[nodiscard]] Status watch_connections(const ZmqContext& context);

  std::unique_ptr<void, Close> it_;
  std::unique_ptr<void, Close> monitor_;
};

}  // namespace penstock
