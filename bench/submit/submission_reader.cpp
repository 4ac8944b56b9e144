#include "bench/submit/submission_reader.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace penstock {
namespace {

using job_submit::Submission;

constexpr int kWaitMs = 10000;

Result<UniqueFd> bound_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return invalid(path + ": too long for a socket; allowed: 107 bytes");
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address),
                    sizeof address) != 0)
    return system_error(errno, path);
  return fd;
}

// The child: forwards each packet unchanged. Only async-signal-safe calls,
// because the parent may have threads.
[[noreturn]] void relay(int from, int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<std::byte, sizeof(Submission) + 1> packet;
  for (;;) {
    const ssize_t size = ::recv(from, packet.data(), packet.size(), 0);
    if (size <= 0 ||
        ::send(to, packet.data(), static_cast<size_t>(size), 0) != size)
      ::_exit(1);
  }
}

}  // namespace

Result<SubmissionReader> SubmissionReader::start(
    const std::string& socket_path) {
  Result<UniqueFd> datagrams = bound_socket(socket_path);
  if (!datagrams) return std::move(datagrams).error();
  int ends[2];
  // SOCK_SEQPACKET preserves the length of each packet.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error(errno, "socketpair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return system_error(errno, "fork");
  if (process == 0) relay(datagrams->get(), theirs.get());
  return SubmissionReader(process, std::move(ours));
}

SubmissionReader::SubmissionReader(SubmissionReader&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      from_process_(std::move(other.from_process_)) {}

SubmissionReader::~SubmissionReader() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void SubmissionReader::stop() const {
  ::kill(process_, SIGSTOP);
  ::waitpid(process_, nullptr, WUNTRACED);
}

void SubmissionReader::go_on() const { ::kill(process_, SIGCONT); }

Result<Submission> SubmissionReader::next() const {
  pollfd waiting{from_process_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, kWaitMs) <= 0)
    return Error{Code::kUnavailable, 0,
                 "no datagram of job_submit_penstock.so within 10 s"};
  std::array<std::byte, sizeof(Submission) + 1> packet;
  const ssize_t size =
      ::recv(from_process_.get(), packet.data(), packet.size(), 0);
  if (size < 0) return system_error(errno, "reading from the child");
  return job_submit::decode_submission(
      std::span(packet).first(static_cast<size_t>(size)));
}

Result<Submission> SubmissionReader::last() const {
  Result<Submission> found = next();
  pollfd waiting{from_process_.get(), POLLIN, 0};
  while (found && ::poll(&waiting, 1, 200) > 0) found = next();
  return found;
}

}  // namespace penstock
