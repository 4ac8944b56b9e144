#include "loader/lmdb/mpi/peer_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

namespace {

uint64_t start_child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  return static_cast<uint64_t>(pid);
}

}  // namespace

TEST_CASE("a killed process counts as ended, before and after its reaping") {
  const auto me = process_of(static_cast<uint64_t>(::getpid()));
  REQUIRE(me);
  const uint64_t child = start_child();
  const auto peer = process_of(child);
  REQUIRE(peer);
  const PeerWatch watch({*me, *peer});
  CHECK(!watch.find_ended());
  ::kill(static_cast<pid_t>(child), SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  CHECK(watch.find_ended() == size_t{1});
  ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  CHECK(watch.find_ended() == size_t{1});
}

TEST_CASE("a process that differs from its announcement is not watched") {
  auto me = *process_of(static_cast<uint64_t>(::getpid()));
  me.start_ticks += 1;
  CHECK(!PeerWatch({me, {4194305, 1}}).find_ended());
}
