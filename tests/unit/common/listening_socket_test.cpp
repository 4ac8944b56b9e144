// Tests common/listening_socket.h.
#include "common/listening_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  return address;
}

bool answers(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  const sockaddr_un address = address_of(path);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address) == 0;
}

}  // namespace

TEST_CASE("every user may connect, whatever the umask is") {
  const TempDir dir;
  const std::string path = dir.path() / "socket";
  const mode_t before = ::umask(077);
  const auto socket = listen_at(path);
  CHECK(::umask(before) == 077);
  REQUIRE(socket);
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0666);
  CHECK(answers(path));
}

TEST_CASE("a live socket is not taken over, a dead one is") {
  const TempDir dir;
  const std::string path = dir.path() / "socket";
  {
    const auto first = listen_at(path);
    REQUIRE(first);
    const auto second = listen_at(path);
    REQUIRE_FALSE(second);
    CHECK_THAT(second.error().message, ContainsSubstring("another penstockd"));
  }
  REQUIRE_FALSE(answers(path));
  const auto third = listen_at(path);
  CHECK(third);
  CHECK(answers(path));
}

TEST_CASE("a file that is no socket stays") {
  const TempDir dir;
  dir.write("socket", "text");
  const auto socket = listen_at(dir.path() / "socket");
  REQUIRE_FALSE(socket);
  CHECK_THAT(socket.error().message, ContainsSubstring("not a socket"));
  CHECK(dir.read("socket") == "text");
}

TEST_CASE("a path that is too long is an error that names SocketPath") {
  const auto socket = listen_at("/tmp/" + std::string(200, 'a'));
  REQUIRE_FALSE(socket);
  CHECK_THAT(socket.error().message, ContainsSubstring("SocketPath"));
}
