#include "wire/zmtp.h"

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;
using Got = ZmtpReader::Got;

namespace {

constexpr size_t kMost = 1000;

// What libzmq 4.3.4's DEALER sends first.
std::string opening() {
  std::string text = zmtp_opening();
  const size_t type = text.find("ROUTER");
  return text.replace(type, 6, "DEALER");
}

std::string frame(char flags, const std::string& body) {
  return std::string{flags, char(body.size())} + body;
}

std::string message(const std::string& text) {
  return zmtp_header(text.size()) + text;
}

struct Heard {
  std::vector<std::string> messages;
  std::vector<std::string> pings;
  std::string fault;
};

// Reads the bytes in pieces of this size.
Heard hear(const std::string& bytes, size_t piece) {
  ZmtpReader reader(kMost);
  Heard heard;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view part = std::string_view(bytes).substr(at, piece);
    while (true) {
      const Result<Got> got = reader.read(part);
      if (!got) {
        heard.fault = got.error().message;
        return heard;
      }
      if (*got == Got::kNothing) break;
      (*got == Got::kPing ? heard.pings : heard.messages)
          .push_back(reader.take_text());
    }
  }
  return heard;
}

}  // namespace

TEST_CASE("messages and pings are read, however the bytes are divided") {
  const std::string large(kMost, 'x');
  const std::string bytes = opening() + message("one") +
                            frame(4, std::string("\4PING\0\5ctx", 10)) +
                            message("") + message(large) + frame(4, "\4PONG");
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
    const Heard heard = hear(bytes, piece);
    CHECK(heard.fault == "");
    CHECK(heard.messages == std::vector<std::string>{"one", "", large});
    CHECK(heard.pings == std::vector<std::string>{"ctx"});
  }
}

TEST_CASE("a pong repeats the ping's context") {
  CHECK(zmtp_pong("ctx") == frame(4, "\4PONGctx"));
}

TEST_CASE("what is no message of one frame is refused with the reason") {
  CHECK_THAT(hear("GET / HTTP/1.1\r\n" + std::string(64, ' '), 100).fault,
             ContainsSubstring("another protocol"));
  std::string older = opening();
  older[10] = 1;
  CHECK_THAT(hear(older, 100).fault, ContainsSubstring("ZMTP 3"));
  std::string curve = opening();
  curve.replace(12, 5, "CURVE");
  CHECK_THAT(hear(curve, 100).fault, ContainsSubstring("NULL"));
  CHECK_THAT(hear(opening() + frame(1, "part"), 100).fault,
             ContainsSubstring("several frames"));
  CHECK_THAT(hear(opening() + frame(8, "part"), 100).fault,
             ContainsSubstring("unknown flags"));
  CHECK_THAT(hear(opening().substr(0, 64) + message("early"), 100).fault,
             ContainsSubstring("before the handshake's end"));
  CHECK_THAT(hear(opening().substr(0, 64) + frame(4, "\5ERROR"), 100).fault,
             ContainsSubstring("without READY"));
  CHECK_THAT(hear(opening() + frame(4, "\4PING"), 100).fault,
             ContainsSubstring("time to live"));
}

TEST_CASE("a size over the limit is refused before its bytes are taken") {
  const std::string header = zmtp_header(kMost + 1);
  CHECK_THAT(hear(opening() + header, 100).fault,
             ContainsSubstring("1001 bytes; allowed: 1000"));
  std::string command = zmtp_header(513);
  command[0] |= 4;
  CHECK_THAT(hear(opening() + command, 100).fault,
             ContainsSubstring("a command of 513 bytes"));
}

TEST_CASE("memory is held only for what has come") {
  ZmtpReader reader(1 << 20);
  const std::string bytes = opening() + zmtp_header(1 << 20) + "some";
  std::string_view part = bytes;
  REQUIRE(reader.read(part).ok());
  CHECK(part.empty());
  CHECK(reader.held_bytes() > 0);
  CHECK(reader.held_bytes() < 1000);
}
