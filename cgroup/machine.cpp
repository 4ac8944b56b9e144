#include "cgroup/machine.h"

#include "cgroup/attach_lock.h"
#include "cgroup/mounts.h"
#include "cgroup/v1_backend.h"
#include "cgroup/v2_backend.h"

namespace penstock {

Result<std::unique_ptr<Backend>> open_backend(const std::string& root,
                                              const CgroupFs& fs,
                                              const ProcReader& proc,
                                              const ThreadSched& sched,
                                              BackendSettings settings) {
  settings.every_attach_locks =
      !settings.always_moves && every_attach_locks(kernel_release());
  Result<V1Mounts> mounts = v1_mounts_of_system(root);
  if (mounts) {
    Result<V1Backend> backend =
        V1Backend::create(fs, proc, sched, *std::move(mounts), settings);
    if (!backend) return std::move(backend).error();
    return std::unique_ptr<Backend>(new V1Backend(*std::move(backend)));
  }
  if (!fs.exists("cgroup.controllers")) {
    return std::move(mounts.error())
        .wrap("no unified hierarchy (cgroup v2) at " + root + " either");
  }
  Result<V2Backend> backend = V2Backend::create(fs, proc, sched, settings);
  if (!backend) return std::move(backend).error();
  return std::unique_ptr<Backend>(new V2Backend(*std::move(backend)));
}

}  // namespace penstock
