#include "wire/zmtp.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

// A greeting: signature, version, mechanism, as-server, filler.
constexpr size_t kGreetingBytes = 64;
constexpr size_t kVersionAt = 10;
constexpr size_t kMechanismAt = 12;
constexpr size_t kMechanismBytes = 20;
constexpr char kOldestMajor = 3;

// Flags of a frame.
constexpr unsigned char kMore = 1;
constexpr unsigned char kLong = 2;
constexpr unsigned char kCommand = 4;

constexpr size_t kShortHeaderBytes = 2;
constexpr size_t kLongHeaderBytes = 9;
constexpr size_t kMaxShortBytes = 255;
// READY with a peer's name, the longest command.
constexpr size_t kMaxCommandBytes = 512;

// Command names with their length.
constexpr std::string_view kReady = "\5READY";
constexpr std::string_view kPing = "\4PING";
constexpr std::string_view kPong = "\4PONG";
constexpr size_t kPingTtlBytes = 2;
constexpr size_t kMaxContextBytes = 16;

std::string mechanism() {
  std::string name = "NULL";
  name.resize(kMechanismBytes);
  return name;
}

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += char(value >> (8 * i));
  return text;
}

std::string command(const std::string& body) {
  return std::string{char(kCommand), char(body.size())} + body;
}

}  // namespace

std::string zmtp_opening() {
  std::string greeting = "\xff" + std::string(8, '\0') + "\x7f\3\1";
  greeting += mechanism();
  greeting.resize(kGreetingBytes);
  const std::string key = "Socket-Type", value = "ROUTER";
  return greeting + command(std::string(kReady) + char(key.size()) + key +
                            big_endian(value.size(), 4) + value);
}

std::string zmtp_header(size_t message_bytes) {
  if (message_bytes <= kMaxShortBytes) {
    return std::string{'\0', char(message_bytes)};
  }
  return char(kLong) + big_endian(message_bytes, 8);
}

std::string zmtp_pong(std::string_view context) {
  return command(std::string(kPong) + std::string(context));
}

// True once `part` has at least `size` bytes.
bool ZmtpReader::fill(std::string& part, size_t size, std::string_view& bytes) {
  const size_t wanted = std::max(size, part.size()) - part.size();
  const size_t taken = std::min(bytes.size(), wanted);
  part.append(bytes.substr(0, taken));
  bytes.remove_prefix(taken);
  return part.size() >= size;
}

Result<ZmtpReader::Got> ZmtpReader::read(std::string_view& bytes) {
  while (true) {
    Status taken = Done{};
    switch (await_) {
      case Await::kGreeting:
        if (!fill(head_, kGreetingBytes, bytes)) return Got::kNothing;
        taken = take_greeting();
        break;
      case Await::kHeader: {
        if (!fill(head_, kShortHeaderBytes, bytes)) return Got::kNothing;
        const bool is_long = (head_[0] & kLong) != 0;
        if (is_long && !fill(head_, kLongHeaderBytes, bytes)) {
          return Got::kNothing;
        }
        taken = take_header();
        break;
      }
      case Await::kBody: {
        if (!fill(body_, body_bytes_, bytes)) return Got::kNothing;
        Result<Got> got = take_body();
        if (!got || *got != Got::kNothing) return got;
        break;
      }
    }
    if (!taken) return std::move(taken).error();
  }
}

Status ZmtpReader::take_greeting() {
  const bool is_zmtp = head_[0] == '\xff' && head_[9] == '\x7f';
  if (!is_zmtp || head_[kVersionAt] < kOldestMajor ||
      head_.substr(kMechanismAt, kMechanismBytes) != mechanism()) {
    return invalid("a connection of another protocol than ZMTP 3 with NULL");
  }
  head_.clear();
  await_ = Await::kHeader;
  return Done{};
}

Status ZmtpReader::take_header() {
  const auto flags = static_cast<unsigned char>(head_[0]);
  body_bytes_ = 0;
  for (size_t i = 1; i < head_.size(); ++i) {
    body_bytes_ = body_bytes_ << 8 | static_cast<unsigned char>(head_[i]);
  }
  head_.clear();
  if ((flags & ~(kLong | kCommand)) != 0) {
    return invalid((flags & kMore) != 0 ? "a message of several frames"
                                        : "a frame with unknown flags");
  }
  is_command_ = (flags & kCommand) != 0;
  if (!is_command_ && !is_ready_) {
    return invalid("a message before the handshake's end");
  }
  const size_t most = is_command_ ? kMaxCommandBytes : max_message_bytes_;
  if (body_bytes_ > most) {
    return Error{
        Code::kLimit, 0,
        fmt::format("a {} of {} bytes; allowed: {}",
                    is_command_ ? "command" : "message", body_bytes_, most)};
  }
  await_ = Await::kBody;
  return Done{};
}

Result<ZmtpReader::Got> ZmtpReader::take_body() {
  await_ = Await::kHeader;
  text_ = std::exchange(body_, {});
  if (!is_command_) return Got::kMessage;
  return take_command();
}

Result<ZmtpReader::Got> ZmtpReader::take_command() {
  const std::string command = take_text();
  if (!is_ready_) {
    if (!command.starts_with(kReady))
      return invalid("a handshake without READY");
    is_ready_ = true;
    return Got::kNothing;
  }
  if (!command.starts_with(kPing)) return Got::kNothing;
  if (command.size() < kPing.size() + kPingTtlBytes) {
    return invalid("a ping without its time to live");
  }
  text_ = command.substr(kPing.size() + kPingTtlBytes, kMaxContextBytes);
  return Got::kPing;
}

}  // namespace penstock
