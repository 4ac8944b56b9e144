#include "broker/user_reader.h"

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

}  // namespace

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

}  // namespace penstock
