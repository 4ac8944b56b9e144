#include "node_agent/report_dir.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

std::string fault_of(const std::string& path) {
  ::signal(SIGCHLD, SIG_IGN);
  auto loop = EventLoop::create();
  REQUIRE(loop.ok());
  BoundedChildren children(*loop);
  std::string fault = "not called back";
  check_report_dir(children, path, [&](const std::string& found) {
    fault = found;
    loop->stop();
  });
  REQUIRE(loop->run());
  return fault;
}

}  // namespace

TEST_CASE("a report directory that only its owner may write has no fault") {
  TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0711) == 0);
  CHECK(fault_of(dir.path().string()).empty());
}

TEST_CASE("a report directory that others may write is a fault") {
  TempDir dir;
  for (mode_t mode : {0720, 0702, 01777}) {
    REQUIRE(::chmod(dir.path().c_str(), mode) == 0);
    CHECK(fault_of(dir.path().string()) ==
          "ReportDir=" + dir.path().string() +
              ": must belong to root and be writable by root alone");
  }
}

TEST_CASE("a missing report directory, and a link to one, are faults") {
  CHECK(fault_of("/does/not/exist").find("No such file") != std::string::npos);
  TempDir dir;
  const auto link = dir.path() / "link";
  std::filesystem::create_directory_symlink(dir.path(), link);
  CHECK(fault_of(link.string()) != "");
}

TEST_CASE("a directory that is being given to penstockd's user has no fault") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give a directory away");
    return;
  }
  constexpr uid_t kUser = 64001;
  const TempDir dir;
  const pid_t giver = ::fork();
  if (giver == 0) {
    ::usleep(200'000);
    ::_exit(::chown(dir.path().c_str(), kUser, -1) == 0 ? 0 : 1);
  }
  REQUIRE(::seteuid(kUser) == 0);
  const std::string fault = fault_of(dir.path());
  REQUIRE(::seteuid(0) == 0);
  CHECK(fault == "");
}
