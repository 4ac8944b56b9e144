#include "common/whole_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock {

int read_whole(int fd, size_t max_bytes, std::string& text) {
  constexpr size_t kLeastBlock = 4096;
  text.clear();
  while (true) {
    const size_t used = text.size();
    text.resize(used + std::max(kLeastBlock, used));
    const ssize_t got = ::pread(fd, text.data() + used, text.size() - used,
                                static_cast<off_t>(used));
    text.resize(used + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    if (text.size() > max_bytes) return EFBIG;
  }
}

int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace penstock
