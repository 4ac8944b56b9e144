// The only user of libcgroup.
#include <libcgroup.h>

#include <cstdlib>
#include <memory>

#include "cgroup/mounts.h"

namespace penstock {

Result<V1Mounts> v1_mounts_of_system(const std::string& root) {
  if (int error = cgroup_init(); error != 0) {
    return Error{Code::kUnavailable, 0,
                 std::string("libcgroup: ") + cgroup_strerror(error)};
  }
  V1Mounts mounts;
  for (const char* controller : kV1Controllers) {
    char* raw = nullptr;
    if (cgroup_get_subsys_mount_point(controller, &raw) != 0) continue;
    std::unique_ptr<char, void (*)(void*)> target(raw, std::free);
    auto path = mount_below(target.get(), root);
    if (path) mounts.path_of.emplace(controller, *path);
  }
  if (!mounts.path_of.contains("cpu") || !mounts.path_of.contains("cpuset")) {
    return Error{
        Code::kUnavailable, 0,
        "no cgroup v1 controllers cpu and cpuset are mounted below " + root};
  }
  return mounts;
}

}  // namespace penstock
