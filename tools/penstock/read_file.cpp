#include "tools/penstock/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "common/unique_fd.h"

namespace penstock {
namespace {

Error too_large(const std::string& name, size_t max_bytes) {
  return Error{Code::kLimit, 0,
               name + " is over " + std::to_string(max_bytes) + " bytes"};
}

}  // namespace

Result<std::string> read_descriptor(int fd, const std::string& name,
                                    size_t max_bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error(errno, name);
  if (!S_ISREG(info.st_mode)) return invalid(name + " is not a regular file");
  if (static_cast<uint64_t>(info.st_size) > max_bytes) {
    return too_large(name, max_bytes);
  }
  // Read to the end and ignore the size, which is 0 for files in /proc and
  // /sys.
  std::string text;
  std::array<char, 65536> block;
  while (text.size() <= max_bytes) {
    ssize_t got = ::pread(fd, block.data(), block.size(), text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, name);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
  }
  return too_large(name, max_bytes);
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
