#include "tools/analyze/command_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

// Runs in the child: only async-signal-safe calls between fork and exec. The
// parent may have died before PR_SET_PDEATHSIG was set, so check getppid().
[[noreturn]] void become(char* const* argv, char* const* environment,
                         int output, int failure, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (none >= 0) ::dup2(none, STDIN_FILENO);
  ::execvpe(argv[0], argv, environment);
  const int error = errno;
  (void)!::write(failure, &error, sizeof error);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Our environment, with `variables` replacing those of the same name.
std::vector<std::string> environment_with(
    const std::vector<std::string>& variables) {
  std::vector<std::string> out = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool is_replaced = false;
    for (const std::string& variable : variables) {
      is_replaced = is_replaced || variable.starts_with(name);
    }
    if (!is_replaced) out.emplace_back(text);
  }
  return out;
}

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

}  // namespace

CommandProcess::CommandProcess(CommandProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      written_(std::move(other.written_)),
      ended_(other.ended_),
      status_(other.status_) {}

CommandProcess::~CommandProcess() { end(); }

Result<CommandProcess> CommandProcess::start(
    const std::vector<std::string>& arguments,
    const std::vector<std::string>& variables) {
  auto output = make_pipe();
  auto failure = make_pipe();
  if (!output) return std::move(output).error();
  if (!failure) return std::move(failure).error();
  std::vector<std::string> words = arguments;
  std::vector<std::string> texts = environment_with(variables);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(texts);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error(errno, "fork");
  if (pid == 0) {
    become(argv.data(), environment.data(), output->second.get(),
           failure->second.get(), parent);
  }
  failure->second.reset();
  output->second.reset();
  CommandProcess process;
  process.pid_ = pid;
  process.pidfd_.reset(int(::syscall(SYS_pidfd_open, pid, 0)));
  process.output_ = std::move(output->first);
  int error = 0;
  if (::read(failure->first.get(), &error, sizeof error) ==
      ssize_t(sizeof error)) {
    process.end();
    return system_error(error, arguments[0]);
  }
  ::fcntl(process.output_.get(), F_SETFL, O_NONBLOCK);
  return process;
}

std::vector<int> CommandProcess::fds() const {
  std::vector<int> out;
  if (output_) out.push_back(output_.get());
  if (pidfd_ && !ended_) out.push_back(pidfd_.get());
  return out;
}

void CommandProcess::read_output() {
  char bytes[65536];
  while (output_) {
    const ssize_t got = ::read(output_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return output_.reset();
    written_.append(bytes, size_t(got));
    if (written_.size() > kKeptBytes) {
      written_.erase(0, written_.size() - kKeptBytes);
    }
  }
}

bool CommandProcess::has_ended() {
  if (ended_ || pid_ < 0) return true;
  siginfo_t info{};
  if (::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return false;
  }
  // Until the child is reaped, its pid cannot be reused as a group id.
  signal_all(SIGKILL);
  ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  read_output();
  return ended_;
}

std::string CommandProcess::how_it_ended() const {
  if (!ended_) return "";
  if (WIFSIGNALED(status_)) {
    return "signal " + std::to_string(WTERMSIG(status_));
  }
  return "exit code " + std::to_string(WEXITSTATUS(status_));
}

std::string CommandProcess::last_lines(size_t most) const {
  std::string_view rest = written_;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest.empty()) return "";
  size_t begin = rest.size();
  for (size_t lines = 0; lines < most && begin > 0; ++lines) {
    const size_t end = rest.rfind('\n', begin - 1);
    begin = end == std::string_view::npos ? 0 : end;
  }
  rest.remove_prefix(begin + (begin > 0 ? 1 : 0));
  std::string out;
  while (!rest.empty()) {
    out += "\n  | " + printable(take_line(rest), 200);
  }
  return out;
}

void CommandProcess::signal_all(int signal) const {
  if (::kill(-pid_, signal) != 0) (void)::kill(pid_, signal);
}

void CommandProcess::end() {
  if (pid_ < 0 || has_ended()) return;
  signal_all(SIGTERM);
  for (int waited_ms = 0; waited_ms < kGrace_ms; waited_ms += 50) {
    pollfd ended{pidfd_.get(), POLLIN, 0};
    (void)::poll(&ended, 1, 50);
    read_output();
    if (has_ended()) return;
  }
  signal_all(SIGKILL);
  ended_ = ::waitpid(pid_, &status_, 0) == pid_;
}

}  // namespace penstock
