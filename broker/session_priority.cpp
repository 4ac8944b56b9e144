#include "broker/session_priority.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/unique_fd.h"

namespace penstock {

Status raise_session(pid_t leader) {
  if (::getsid(leader) != leader) return Done{};
  const std::string path = "/proc/" + std::to_string(leader) + "/autogroup";
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return Done{};
  const std::string value = std::to_string(kSessionNice);
  if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
    return system_error(errno, path);
  }
  return Done{};
}

}  // namespace penstock
