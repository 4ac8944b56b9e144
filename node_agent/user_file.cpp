#include "node_agent/user_file.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <array>
#include <vector>

#include "common/clock.h"

namespace penstock {
namespace {

// The child's last word when it could not read: the errno value.
[[noreturn]] void fail(int out, int error) {
  (void)!::write(out, "!", 1);
  (void)!::write(out, &error, sizeof error);
  ::_exit(0);
}

// In the child. Only system calls: the parent has one thread, but its heap may
// hold other users' reports.
[[noreturn]] void read_as_user(const char* path, uid_t uid, gid_t gid,
                               int out) {
  // Nothing else stays open: a child that hangs must not hold our lock, or the
  // guardian's pipe.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::dup2(out, STDIN_FILENO) != STDIN_FILENO) ::_exit(1);
  out = STDIN_FILENO;
  ::close_range(3, ~0U, 0);
  if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    fail(out, errno);
  }
  const int in = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (in < 0) fail(out, errno);
  struct stat found {};
  if (::fstat(in, &found) != 0) fail(out, errno);
  if (!S_ISREG(found.st_mode) ||
      found.st_size > off_t{UserFileReader::kMaxBytes}) {
    fail(out, EFBIG);
  }
  (void)!::write(out, "=", 1);
  std::array<char, 4096> block;
  ssize_t size = 0;
  while ((size = ::read(in, block.data(), block.size())) > 0) {
    if (::write(out, block.data(), static_cast<size_t>(size)) != size) break;
  }
  ::_exit(0);
}

Result<std::string> interpret(const std::string& text,
                              const std::string& path) {
  if (!text.empty() && text[0] == '=') return text.substr(1);
  if (text.size() == 1 + sizeof(int)) {
    int error = 0;
    text.copy(reinterpret_cast<char*>(&error), sizeof error, 1);
    if (error == EFBIG) {
      return Error{Code::kLimit, error,
                   path + ": not a regular file of at most 64 KiB"};
    }
    return system_error(error, path);
  }
  return Error{Code::kUnavailable, 0, path + ": reading it failed"};
}

}  // namespace

UserFileReader::~UserFileReader() {
  while (!children_.empty()) {
    finish(children_.begin()->first,
           Error{Code::kUnavailable, 0, "penstockd is stopping"});
  }
}

void UserFileReader::read(const std::string& path, uid_t uid, gid_t gid,
                          Callback callback) {
  std::array<int, 2> ends{-1, -1};
  if (children_.size() >= kMaxChildren ||
      ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    callback(Error{Code::kUnavailable, 0, path + ": too many files at once"});
    return;
  }
  UniqueFd in(ends[0]), out(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) read_as_user(path.c_str(), uid, gid, out.get());
  if (pid < 0) {
    callback(system_error(errno, "fork"));
    return;
  }
  const int fd = in.get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  children_[fd] = Child{
      pid, std::move(in),      monotonic_ns() + kDeadlineMs * 1'000'000, path,
      "",  std::move(callback)};
  if (!loop_.watch(fd, [this, fd] { receive(fd); })) {
    finish(fd, Error{Code::kUnavailable, 0, path + ": cannot be watched"});
  }
}

void UserFileReader::receive(int fd) {
  Child& child = children_.at(fd);
  std::array<char, 4096> block;
  const ssize_t size = ::read(fd, block.data(), block.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0 && child.text.size() <= kMaxBytes) {
    child.text.append(block.data(), static_cast<size_t>(size));
    return;
  }
  finish(fd, interpret(child.text, child.path));
}

void UserFileReader::expire(uint64_t now_ns) {
  std::vector<int> late;
  for (const auto& [fd, child] : children_) {
    if (now_ns >= child.deadline_ns) late.push_back(fd);
  }
  for (int fd : late) {
    finish(fd, Error{Code::kUnavailable, 0,
                     children_.at(fd).path + ": not read within 5 s"});
  }
}

void UserFileReader::finish(int fd, Result<std::string> result) {
  loop_.forget(fd);
  auto node = children_.extract(fd);
  Child& child = node.mapped();
  // It may hang in a file system. penstockd ignores SIGCHLD: no zombie stays.
  ::kill(child.pid, SIGKILL);
  child.callback(std::move(result));
}

}  // namespace penstock
