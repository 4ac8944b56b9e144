#include "spank_plugin/step_groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "common/text_scan.h"
#include "common/unique_fd.h"

namespace penstock::spank {
namespace {

constexpr int kOpenDir = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Calls visit(name) for each directory in dir_fd.
template <class Visit>
void each_dir(int dir_fd, const Visit& visit) {
  const int fd = ::openat(dir_fd, ".", kOpenDir);
  if (fd < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      visit(entry->d_name);
    }
  }
}

// Matches any CgroupName=. Slurm creates no groups inside a task's group.
bool is_ours(std::string_view name) {
  return name.ends_with("_home") || name.ends_with("_loader");
}

}  // namespace

std::string_view unified_path(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "";
}

int remove_step_groups(int cgroup_root_fd, std::string_view own_path) {
  constexpr std::string_view kOwnGroup = "/slurm";
  if (!own_path.starts_with('/') || !own_path.ends_with(kOwnGroup)) return 0;
  own_path.remove_suffix(kOwnGroup.size());
  if (own_path.find("/step_") == own_path.npos) return 0;
  // A path outside of our cgroup namespace would lead out of the tree.
  if (own_path.starts_with("/../")) return 0;
  const std::string user = std::string(own_path.substr(1)) + "/user";
  const UniqueFd user_fd(::openat(cgroup_root_fd, user.c_str(), kOpenDir));
  if (!user_fd) return 0;
  int removed = 0;
  each_dir(user_fd.get(), [&](const char* task) {
    const UniqueFd task_fd(::openat(user_fd.get(), task, kOpenDir));
    if (!task_fd) return;
    each_dir(task_fd.get(), [&](const char* group) {
      if (!is_ours(group)) return;
      removed += ::unlinkat(task_fd.get(), group, AT_REMOVEDIR) == 0;
    });
  });
  return removed;
}

int remove_own_step_groups() {
  const UniqueFd root(::open("/sys/fs/cgroup", kOpenDir));
  struct statfs found {};
  if (!root || ::fstatfs(root.get(), &found) != 0 ||
      found.f_type != CGROUP2_SUPER_MAGIC) {
    return 0;
  }
  const UniqueFd file(::open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC));
  char text[8192];
  const ssize_t size =
      file ? ::read(file.get(), text, sizeof text) : ssize_t{-1};
  if (size <= 0) return 0;
  return remove_step_groups(root.get(),
                            unified_path({text, static_cast<size_t>(size)}));
}

}  // namespace penstock::spank
