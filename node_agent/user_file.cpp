#include "node_agent/user_file.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace penstock {
namespace {

// The child's last output after a failed read: the errno value.
void fail(int out, int error) {
  (void)!::write(out, "!", 1);
  (void)!::write(out, &error, sizeof error);
}

// Runs in the child, with system calls only: the inherited heap may hold other
// users' reports.
void read_as_user(const char* path, uid_t uid, gid_t gid, int out) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return fail(out, errno);
  }
  const int in = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (in < 0) return fail(out, errno);
  struct stat found {};
  if (::fstat(in, &found) != 0) return fail(out, errno);
  if (!S_ISREG(found.st_mode) || found.st_size > off_t{kMaxUserFileBytes}) {
    return fail(out, EFBIG);
  }
  (void)!::write(out, "=", 1);
  std::array<char, 4096> block;
  ssize_t size = 0;
  while ((size = ::read(in, block.data(), block.size())) > 0) {
    if (::write(out, block.data(), static_cast<size_t>(size)) != size) break;
  }
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

void read_user_file(BoundedChildren& children, const std::string& path,
                    uid_t uid, gid_t gid, BoundedChildren::Callback callback) {
  ChildWork work;
  work.what = path;
  work.user = uid;
  work.body = [&path, uid, gid](int out) {
    read_as_user(path.c_str(), uid, gid, out);
  };
  work.deadline_ms = kUserFileDeadline_ms;
  work.max_bytes = 1 + kMaxUserFileBytes;  // the mark of success, and the file
  children.start(work, [path, callback = std::move(callback)](
                           const Result<std::string>& text) {
    callback(text ? interpret(*text, path) : text);
  });
}

}  // namespace penstock
