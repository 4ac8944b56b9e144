// Tests broker/channel.h.
#include "broker/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "tests/unit/broker/socket_pair.h"
#include "tests/unit/catch.h"

using namespace penstock;
using test::SocketPair;

namespace {

std::vector<std::byte> bytes(const std::string& text) {
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

}  // namespace

TEST_CASE("a datagram arrives with its descriptor") {
  const SocketPair ends;
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const UniqueFd in(pipe_ends[0]), out(pipe_ends[1]);
  REQUIRE(
      send_datagram(ends.here.get(), bytes("hello"), std::array{out.get()}));
  const auto got = receive_datagram(ends.there.get(), 100);
  REQUIRE(got);
  CHECK(got->bytes == bytes("hello"));
  REQUIRE(got->fds.size() == 1);
  REQUIRE(::write(got->fds[0].get(), "x", 1) == 1);
  char byte = 0;
  CHECK(::read(in.get(), &byte, 1) == 1);
}

TEST_CASE("a longer datagram than allowed is an error") {
  const SocketPair ends;
  REQUIRE(send_datagram(ends.here.get(), bytes("hello")));
  const auto got = receive_datagram(ends.there.get(), 4);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kLimit);
}

TEST_CASE("the other end's death is told from a message") {
  SocketPair ends;
  ends.here.reset();
  const auto got = receive_datagram(ends.there.get(), 100);
  REQUIRE(got);
  CHECK(got->bytes.empty());
  CHECK_FALSE(send_datagram(ends.there.get(), bytes("x")));
}

TEST_CASE("a receiver with a time limit does not wait for ever") {
  const SocketPair ends;
  const timeval limit{0, 20'000};
  REQUIRE(::setsockopt(ends.there.get(), SOL_SOCKET, SO_RCVTIMEO, &limit,
                       sizeof limit) == 0);
  const auto got = receive_datagram(ends.there.get(), 100);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kUnavailable);
}
