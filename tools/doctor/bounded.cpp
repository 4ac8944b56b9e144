#include "tools/doctor/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "common/units.h"

namespace penstock::doctor {
namespace {

// Output of a child whose exec failed.
constexpr const char* kNoProgram = "\x01no such program\n";

int left_ms(uint64_t deadline_ns) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns >= deadline_ns) return 0;
  return int((deadline_ns - now_ns) / 1'000'000) + 1;
}

Error too_late(const std::string& what, int timeout_ms) {
  return Error{
      Code::kUnavailable, 0,
      what + ": not done within " + std::to_string(timeout_ms) + " ms"};
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
      return too_late(what, timeout_ms);
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

struct Child {
  pid_t pid = -1;
  UniqueFd output;
};

// Adds what can be read now. False: there will be no more.
bool take_output(int fd, std::string& text) {
  std::array<char, 4096> block;
  const ssize_t size = ::read(fd, block.data(), block.size());
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  text.append(block.data(), size_t(size));
  if (text.size() > kMaxChildBytes) text.resize(kMaxChildBytes);
  return size > 0;
}

// How the child ended, with the beginning of its output until then: another
// process may hold the other end open.
Result<int> status_of(Child& child, const std::string& what, int timeout_ms,
                      std::string& text) {
  constexpr int kStep_ms = 20;
  const uint64_t deadline_ns =
      monotonic_ns() + uint64_t(timeout_ms) * 1'000'000;
  ::fcntl(child.output.get(), F_SETFL, O_NONBLOCK);
  int status = 0;
  while (::waitpid(child.pid, &status, WNOHANG) == 0) {
    if (left_ms(deadline_ns) == 0) return too_late(what, timeout_ms);
    pollfd wait{child.output.get(), POLLIN, 0};
    if (::poll(&wait, 1, kStep_ms) <= 0) continue;
    if (!take_output(wait.fd, text)) child.output.reset();
  }
  if (child.output) (void)take_output(child.output.get(), text);
  return status;
}

// A file in memory with this text, read from its beginning.
UniqueFd file_of(const std::string& text) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  const auto size = ssize_t(text.size());
  if (!file || ::write(file.get(), text.data(), text.size()) != size ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return UniqueFd();
  }
  return file;
}

// input: the child's standard input; -1: ours.
Result<Child> start(const std::function<void(int out)>& body, int input = -1) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
  Child child{-1, UniqueFd(ends[0])};
  const UniqueFd out(ends[1]);
  child.pid = ::fork();
  if (child.pid < 0) return system_error(errno, "fork");
  if (child.pid > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  // A child that outlives us must not keep a lock of ours.
  ::close_range(STDERR_FILENO + 1, unsigned(out.get()) - 1, 0);
  ::close_range(unsigned(out.get()) + 1, ~0U, 0);
  try {
    body(out.get());
  } catch (...) {  // incomplete output shows the failure
    ::_exit(1);
  }
  ::_exit(0);
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<std::string> output_of(const std::string& what, int timeout_ms,
                              const std::function<void(int out)>& body) {
  Result<Child> child = start(body);
  if (!child) return std::move(child).error();
  const uint64_t deadline_ns =
      monotonic_ns() + uint64_t(timeout_ms) * 1'000'000;
  Result<std::string> text =
      read_until(child->output.get(), what, timeout_ms, deadline_ns);
  ::kill(child->pid, SIGKILL);
  // A child that hangs in the kernel cannot be waited for.
  ::waitpid(child->pid, nullptr, text ? 0 : WNOHANG);
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

Status run_program(const std::vector<std::string>& arguments,
                   const std::string& input, int timeout_ms) {
  const std::string& name = arguments.front();
  const UniqueFd file = file_of(input);
  if (!file) return system_error(errno, "memfd_create");
  Result<Child> child =
      start([&](int out) { become(arguments, out); }, file.get());
  if (!child) return std::move(child).error();
  std::string text;
  const Result<int> status = status_of(*child, name, timeout_ms, text);
  if (!status) {
    ::kill(child->pid, SIGKILL);
    ::waitpid(child->pid, nullptr, WNOHANG);
    return status.error();
  }
  if (text == kNoProgram) {
    return Error{Code::kNotFound, 0, name + ": no such program"};
  }
  if (*status == 0) return Done{};
  const std::string said = printable(text, 200);
  return Error{Code::kIo, 0,
               name + ": ended with " + how_it_ended(*status) +
                   (said.empty() ? "" : ": " + said)};
}

}  // namespace penstock::doctor
