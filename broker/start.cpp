#include "broker/start.h"

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace penstock {
namespace {

constexpr const char* kProgram = "penstock-broker";

Result<std::string> program_path() {
  std::array<char, PATH_MAX> self;
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size < 0) return system_error(errno, "/proc/self/exe");
  const std::string path(self.data(), static_cast<size_t>(size));
  return path.substr(0, path.rfind('/') + 1) + kProgram;
}

Result<UniqueFd> start_broker(const std::vector<std::string>& arguments) {
  const Result<std::string> path = program_path();
  if (!path) return path.error();
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) !=
      0) {
    return system_error(errno, "socketpair");
  }
  UniqueFd ours(ends[0]), theirs(ends[1]);
  std::vector<char*> argv{const_cast<char*>(kProgram)};
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path->c_str(), &actions, nullptr,
                                  argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return system_error(error, *path + " cannot be started");
  }
  return ours;
}

Result<UniqueFd> connect_broker() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kBrokerSocket);
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                       sizeof(address)) != 0) {
    Error error = system_error(errno, kBrokerSocket);
    error.message +=
        "; start penstockd.service, which needs penstock-broker.socket, or "
        "start penstockd as root";
    return error;
  }
  return fd;
}

}  // namespace

Result<UniqueFd> open_broker(const std::vector<std::string>& arguments) {
  return ::geteuid() == 0 ? start_broker(arguments) : connect_broker();
}

Status end_broker(UniqueFd socket, int patience_ms) {
  ::shutdown(socket.get(), SHUT_WR);
  pollfd end{socket.get(), 0, 0};
  const int ended = ::poll(&end, 1, patience_ms);
  if (ended == 1) return Done{};
  return Error{Code::kUnavailable, 0,
               "the penstock-broker of a dead penstockd has not ended within " +
                   std::to_string(patience_ms) + " ms"};
}

Status become_user(uid_t user) {
  const passwd* account = ::getpwuid(user);
  const gid_t group = account != nullptr ? account->pw_gid : gid_t(user);
  const int grouped = account != nullptr ? ::initgroups(account->pw_name, group)
                                         : ::setgroups(0, nullptr);
  if (grouped != 0 || ::setresgid(group, group, group) != 0 ||
      ::setresuid(user, user, user) != 0) {
    return system_error(errno, "becoming user " + std::to_string(user));
  }
  // Without the first, no program that this process starts can gain rights.
  // The second gives /proc/self back to the process, which opens files there.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_DUMPABLE, 1) != 0) {
    return system_error(errno, "prctl");
  }
  return Done{};
}

}  // namespace penstock
