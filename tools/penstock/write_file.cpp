#include "tools/penstock/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/unique_fd.h"

namespace penstock {
namespace {

Status write_all(int fd, const std::string& text, const std::string& path) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return system_error(errno, path);
    done += static_cast<size_t>(wrote);
  }
  return Done{};
}

}  // namespace

Status write_file_atomically(const std::string& path, const std::string& text) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return invalid(path + " is no regular file; name another one");
  }
  std::string name = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return system_error(errno, path);
  Status done = write_all(fd.get(), text, path);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (done && ::fchmod(fd.get(), 0666 & ~mask) != 0) {
    done = system_error(errno, path);
  }
  if (done && std::rename(name.c_str(), path.c_str()) != 0) {
    done = system_error(errno, path);
  }
  if (!done) (void)::unlink(name.c_str());
  return done;
}

}  // namespace penstock
