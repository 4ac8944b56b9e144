#include "private_munge.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

constexpr const char* kMunged = "/usr/sbin/munged";

bool answers(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const bool up = ::connect(fd, reinterpret_cast<sockaddr*>(&address),
                            sizeof(address)) == 0;
  ::close(fd);
  return up;
}

[[noreturn]] void become_munged(const std::string& directory, int shift_s) {
  if (shift_s != 0) ::setenv("LD_PRELOAD", PENSTOCK_SHIFTED_TIME, 1);
  ::setenv("PENSTOCK_SHIFT_S", std::to_string(shift_s).c_str(), 1);
  const int log =
      ::open((directory + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(log, 1);
  ::dup2(log, 2);
  const std::string key = "--key-file=" + directory + "/key";
  const std::string socket = "--socket=" + directory + "/munge.sock";
  const std::string pid_file = "--pid-file=" + directory + "/pid";
  const std::string seed = "--seed-file=" + directory + "/seed";
  ::execl(kMunged, kMunged, "--foreground", key.c_str(), socket.c_str(),
          pid_file.c_str(), seed.c_str(), nullptr);
  ::_exit(127);
}

}  // namespace

bool PrivateMunge::installed() { return ::access(kMunged, X_OK) == 0; }

PrivateMunge::PrivateMunge(const std::string& key, int shift_s) {
  char name[] = "/tmp/penstock-munge-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  directory_ = name;
  REQUIRE(::chmod(name, 0711) == 0);  // munged wants its socket reachable
  std::string secret;
  while (secret.size() < 128) secret += key + "-";
  std::ofstream(directory_ + "/key") << secret;
  REQUIRE(::chmod((directory_ + "/key").c_str(), 0600) == 0);
  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) become_munged(directory_, shift_s);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!answers(socket())) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

PrivateMunge::~PrivateMunge() {
  kill();
  std::filesystem::remove_all(directory_);
}

void PrivateMunge::freeze() {
  REQUIRE(::kill(pid_, SIGSTOP) == 0);
  int state = 0;
  REQUIRE(::waitpid(pid_, &state, WUNTRACED) == pid_);
  REQUIRE(WIFSTOPPED(state));
}

void PrivateMunge::thaw() { ::kill(pid_, SIGCONT); }

void PrivateMunge::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace penstock
