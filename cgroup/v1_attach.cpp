// Which threads may be moved between cpusets (cgroup/attach_lock.h).
#include "cgroup/backend_parts.h"
#include "cgroup/v1_backend.h"

namespace penstock {
namespace {

constexpr const char* kMems = "/cpuset.effective_mems";
constexpr const char* kMigrate = "/cpuset.memory_migrate";

}  // namespace

// A missing group fails at the write.
Status V1Tree::may_attach(pid_t tid, std::string_view group) const {
  if (settings.always_moves) return Done{};
  const auto status = proc->status(tid);
  if (!status) return status.error();
  if (status->tgid != tid) return Done{};
  auto groups = proc->cgroups(tid);
  if (!groups) return groups.error();
  const std::string& from = (*groups)["cpuset"];
  if (from == group) return Done{};
  if (settings.every_attach_locks) {
    return Error{Code::kUnavailable, 0,
                 "Linux before 6.2 moves a whole process only with the lock of "
                 "its memory, which its user can hold for ever: boot Linux 6.2 "
                 "or later, or load the samples with threads"};
  }
  const auto mems = fs->read_file(at("cpuset", from) + kMems);
  const auto wanted = fs->read_file(at("cpuset", group) + kMems);
  if (!wanted && wanted.error().code == Code::kNotFound) return Done{};
  const auto migrates = fs->read_file(at("cpuset", group) + kMigrate);
  for (const auto* read : {&mems, &wanted, &migrates}) {
    if (!*read) return read->error();
  }
  if (*mems == *wanted && migrates->starts_with('0')) return Done{};
  return Error{Code::kUnavailable, 0,
               "a process is moved only between cpusets of the same memory "
               "nodes and without cpuset.memory_migrate: compare " +
                   at("cpuset", from) + " and " + at("cpuset", group)};
}

// For processes that an away thread has started, and that may_attach() leaves
// in the job's group.
Status V1Backend::keep_on_home_cpus(JobId job) {
  auto members = tree_.members(job, "cpuset");
  if (!members) return std::move(members).error();
  if (!tree_.settings.every_attach_locks || members->empty()) return Done{};
  const Home home = guess_home(*members->begin());
  auto cpus = tree_.fs->read_file(tree_.at("cpuset", home.cpuset_path) +
                                  "/cpuset.cpus");
  if (!cpus) return std::move(cpus).error();
  return tree_.fs->write_file(
      tree_.at("cpuset", tree_.job_group(job)) + "/cpuset.cpus", *cpus);
}

}  // namespace penstock
