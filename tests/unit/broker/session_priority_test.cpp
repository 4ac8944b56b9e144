// Tests broker/session_priority.h.
#include "broker/session_priority.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// A child that waits, at the head of a session of its own or in ours.
class Child {
 public:
  explicit Child(bool leads) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (leads) ::setsid();
      ::close(ends[1]);
      ::pause();
      ::_exit(0);
    }
    // The end of file comes once the child has closed its end.
    ::close(ends[1]);
    char none;
    CHECK(::read(ends[0], &none, 1) == 0);
    ::close(ends[0]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

  // Such as "/autogroup-7 nice 0"; empty without autogroups.
  std::string autogroup() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/autogroup");
    std::string line;
    std::getline(file, line);
    return line;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a session is raised through its leader") {
  const Child leader(true);
  if (leader.autogroup().empty() || ::geteuid() != 0) return;
  CHECK(leader.autogroup().ends_with(" nice 0"));
  CHECK(raise_session(leader.pid()).ok());
  CHECK(leader.autogroup().ends_with(" nice -10"));
}

TEST_CASE("the session of a process that does not lead it stays as it is") {
  const Child member(false);
  const std::string before = member.autogroup();
  CHECK(raise_session(member.pid()).ok());
  CHECK(member.autogroup() == before);
}

TEST_CASE("raising the session of a process that has ended is no error") {
  pid_t ended;
  {
    const Child child(true);
    ended = child.pid();
  }
  CHECK(raise_session(ended).ok());
}
