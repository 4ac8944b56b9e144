#include "tools/penstock/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "common/unique_fd.h"
#include "common/whole_file.h"

namespace penstock {
Result<std::string> read_descriptor(int fd, const std::string& name,
                                    size_t max_bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error(errno, name);
  if (!S_ISREG(info.st_mode)) return invalid(name + " is not a regular file");
  std::string text;
  const int error = read_whole(fd, max_bytes, text);
  if (error == EFBIG) {
    return Error{Code::kLimit, 0,
                 name + " is over " + std::to_string(max_bytes) + " bytes"};
  }
  if (error != 0) return system_error(error, name);
  return text;
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO must not block.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  Result<std::string> text = read_descriptor(fd.get(), path, max_bytes);
  if (text || text.error().code != Code::kLimit) return text;
  return invalid(text.error().message + "; is it the file that was meant?");
}

}  // namespace penstock
