#include "cgroup/attach_lock.h"

#include <sys/utsname.h>

#include <charconv>
#include <utility>

namespace penstock {

bool every_attach_locks(std::string_view release) {
  std::pair<int, int> version{0, 0};
  const char* end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') {
    return true;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  return minor.ec != std::errc() || version < std::pair{6, 2};
}

std::string kernel_release() {
  struct utsname system {};
  return ::uname(&system) == 0 ? system.release : "";
}

}  // namespace penstock
