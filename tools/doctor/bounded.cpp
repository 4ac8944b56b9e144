#include "tools/doctor/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/clock.h"
#include "common/unique_fd.h"

namespace penstock::doctor {
namespace {

// Output of a child whose exec failed.
constexpr const char* kNoProgram = "\x01no such program\n";

int left_ms(uint64_t deadline_ns) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns >= deadline_ns) return 0;
  return int((deadline_ns - now_ns) / 1'000'000) + 1;
}

Result<std::string> read_until(int fd, const std::string& what, int timeout_ms,
                               uint64_t deadline_ns) {
  std::string text;
  std::array<char, 4096> block;
  while (true) {
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, left_ms(deadline_ns));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return Error{
          Code::kUnavailable, 0,
          what + ": not done within " + std::to_string(timeout_ms) + " ms"};
    }
    const ssize_t size = ::read(fd, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(block.data(), size_t(size));
    if (text.size() > kMaxChildBytes) {
      return Error{Code::kLimit, 0,
                   what + ": writes more than " +
                       std::to_string(kMaxChildBytes) + " bytes"};
    }
  }
}

[[noreturn]] void become(const std::vector<std::string>& arguments, int out) {
  std::vector<char*> argv;
  for (const std::string& each : arguments) {
    argv.push_back(const_cast<char*>(each.c_str()));
  }
  argv.push_back(nullptr);
  // A copy of `out` that is closed by a successful exec; stdout and stderr
  // stay.
  const int kept = ::fcntl(out, F_DUPFD_CLOEXEC, 3);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvp(argv[0], argv.data());
  if (::write(kept, kNoProgram, std::strlen(kNoProgram)) < 0) ::_exit(1);
  ::_exit(0);
}

}  // namespace

Result<std::string> output_of(const std::string& what, int timeout_ms,
                              const std::function<void(int out)>& body) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno, "fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      body(out.get());
    } catch (...) {  // incomplete output shows the failure
      ::_exit(1);
    }
    ::_exit(0);
  }
  out.reset();
  const uint64_t deadline_ns =
      monotonic_ns() + uint64_t(timeout_ms) * 1'000'000;
  Result<std::string> text =
      read_until(in.get(), what, timeout_ms, deadline_ns);
  ::kill(child, SIGKILL);
  // A child that hangs in the kernel cannot be waited for.
  ::waitpid(child, nullptr, text ? 0 : WNOHANG);
  return text;
}

Result<std::string> output_of_program(const std::vector<std::string>& arguments,
                                      int timeout_ms) {
  Result<std::string> text = output_of(
      arguments.front(), timeout_ms, [&](int out) { become(arguments, out); });
  if (text && *text == kNoProgram) {
    return Error{Code::kNotFound, 0, arguments.front() + ": no such program"};
  }
  return text;
}

}  // namespace penstock::doctor
