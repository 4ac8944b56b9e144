// The listening end of ZMTP 3.1, ZeroMQ's protocol on TCP, as far as agents and
// commands use it: no security mechanism, one frame per message. libzmq's own
// sockets bound neither the frames of a message nor the connections
// (docs/decisions/controller.md). Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// What a listener sends first on each connection.
std::string zmtp_opening();
// A message's header; its bytes follow.
std::string zmtp_header(size_t message_bytes);
// The reply to a ping.
std::string zmtp_pong(std::string_view context);

// Reads one connection's bytes.
class ZmtpReader {
 public:
  explicit ZmtpReader(size_t max_message_bytes)
      : max_message_bytes_(max_message_bytes) {}

  enum class Got { kNothing, kMessage, kPing };

  // Takes bytes off the front of `bytes`, up to the end of a message or a ping,
  // or all (kNothing). text(): that message, or that ping's context.
  // Errors: kInvalidArgument  another protocol or version; a message of several
  //                           frames
  //         kLimit            a message over max_message_bytes
  // After an error the connection is of no use.
  [[nodiscard]] Result<Got> read(std::string_view& bytes);
  std::string take_text() { return std::move(text_); }

  // Memory for a message that is not complete.
  size_t held_bytes() const { return body_.empty() ? 0 : body_.capacity(); }

 private:
  [[nodiscard]] Status take_greeting();
  [[nodiscard]] Status take_header();
  [[nodiscard]] Result<Got> take_body();
  Result<Got> take_command();
  bool fill(std::string& part, size_t size, std::string_view& bytes);

  enum class Await { kGreeting, kHeader, kBody };

  size_t max_message_bytes_;
  Await await_ = Await::kGreeting;
  bool is_ready_ = false;  // the peer's READY command has come
  bool is_command_ = false;
  std::string head_;  // greeting or header
  uint64_t body_bytes_ = 0;
  std::string body_;
  std::string text_;
};

}  // namespace penstock
