#include "broker/user_reader.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cgroup/proc_reader.h"

namespace penstock {
namespace {

// The child's last output after a failed read: the errno value.
void fail(int out, int error) {
  (void)!::write(out, "!", 1);
  (void)!::write(out, &error, sizeof error);
}

constexpr int kWaits = 200;
constexpr unsigned kWait_us = 10'000;

}  // namespace

std::optional<gid_t> group_of_user_process(const ProcStatus& process,
                                           uid_t user) {
  if (user == 0 || process.real_uid != user || !process.has_one_user ||
      process.real_gid == 0) {
    return std::nullopt;
  }
  return process.real_gid;
}

void read_as_process(const char* path, pid_t process, uid_t user, int out) {
  const Result<ProcReader> proc = ProcReader::open();
  if (!proc) return fail(out, proc.error().saved_errno);
  for (int i = 0; i < kWaits; ++i) {
    const Result<ProcStatus> status = proc->status(process);
    if (!status) return fail(out, status.error().saved_errno);
    if (const auto group = group_of_user_process(*status, user)) {
      return read_as_user(path, user, *group, out);
    }
    ::usleep(kWait_us);
  }
  fail(out, EPERM);
}

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
