#include "tools/penstock/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "common/unique_fd.h"

namespace penstock {

Result<std::string> read_descriptor(int fd, const std::string& name,
                                    size_t max_bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error(errno, name);
  if (!S_ISREG(info.st_mode)) return invalid(name + " is not a regular file");
  if (static_cast<uint64_t>(info.st_size) > max_bytes) {
    return Error{Code::kLimit, 0,
                 name + " is over " + std::to_string(max_bytes) + " bytes"};
  }
  std::string text(info.st_size, '\0');
  size_t have = 0;
  while (have < text.size()) {
    ssize_t got = ::pread(fd, text.data() + have, text.size() - have, have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, name);
    if (got == 0) break;  // it became shorter meanwhile
    have += got;
  }
  text.resize(have);
  return text;
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: a pipe of that name must not hold us up.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  return read_descriptor(fd.get(), path, max_bytes);
}

}  // namespace penstock
