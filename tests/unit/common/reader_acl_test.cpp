#include "common/reader_acl.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock {
namespace {

constexpr uid_t kSender = 64031;
constexpr uid_t kOther = 64032;

// A datagram socket with mode 0600 in a directory that all may search.
struct Mailbox {
  Mailbox() {
    REQUIRE(::chmod(parent.path().c_str(), 0711) == 0);
    address.sun_family = AF_UNIX;
    const std::string path = parent.path() / "s";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(fd.get(), name(), sizeof address) == 0);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    file.reset(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    REQUIRE(file);
  }

  sockaddr* name() { return reinterpret_cast<sockaddr*>(&address); }

  // 0, or the errno of a user's datagram.
  int error_of(uid_t user) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const UniqueFd out(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      if (::setresuid(user, user, user) != 0) ::_exit(255);
      const ssize_t sent =
          ::sendto(out.get(), "x", 1, MSG_DONTWAIT, name(), sizeof address);
      ::_exit(sent == 1 ? 0 : errno);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
  }

  TempDir parent;
  UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  UniqueFd file;
  sockaddr_un address{};
};

TEST_CASE("one more user may send to a socket, and the last one given alone") {
  if (::geteuid() != 0) return;  // only root can become other users
  Mailbox mailbox;
  CHECK(mailbox.error_of(kSender) == EACCES);
  const Status given = let_send(mailbox.file.get(), kSender);
  if (!given && given.error().code == Code::kUnavailable) return;
  REQUIRE(given);
  CHECK(mailbox.error_of(kSender) == 0);
  CHECK(mailbox.error_of(kOther) == EACCES);
  REQUIRE(let_send(mailbox.file.get(), kOther));
  CHECK(mailbox.error_of(kSender) == EACCES);
  CHECK(mailbox.error_of(kOther) == 0);
}

TEST_CASE("only the owner can give a socket's access away") {
  if (::geteuid() != 0) return;
  Mailbox mailbox;
  REQUIRE(::fchownat(mailbox.file.get(), "", kOther, gid_t(-1),
                     AT_EMPTY_PATH) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::setresuid(kSender, kSender, kSender) != 0) ::_exit(255);
    const Status given = let_send(mailbox.file.get(), kSender);
    ::_exit(given ? 0 : given.error().code == Code::kPermissionDenied ? 1 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 1);
}

}  // namespace
}  // namespace penstock
