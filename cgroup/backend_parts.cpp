#include "cgroup/backend_parts.h"

#include "cgroup/v1_parse.h"

namespace penstock {

Status check_group_name(const std::string& name) {
  if (!name.empty() && name[0] != '.' && name.find('/') == name.npos) {
    return Done{};
  }
  return invalid("control group name \"" + printable(name) +
                 "\": allowed is one path component that does not begin "
                 "with '.'");
}

Result<ThreadNow> read_thread(const ProcReader& proc, const ThreadSched& sched,
                              const TaskId& task) {
  Status same = proc.verify(task);
  if (!same) return same.error();
  auto id = proc.identity(task.tid);
  if (!id) return id.error();
  auto groups = proc.cgroups(task.tid);
  if (!groups) return groups.error();
  auto affinity = sched.affinity(task.tid);
  if (!affinity) return affinity.error();
  auto policy = sched.policy(task.tid);
  if (!policy) return policy.error();
  // The tid may have been reused between the reads above.
  same = proc.verify(*id);
  if (!same) return same.error();
  return ThreadNow{*id, *std::move(groups), *affinity, *policy};
}

std::optional<Home> verified_home(pid_t tid, const FindHome& find_home,
                                  const ProcReader& proc) {
  auto home = find_home ? find_home(tid) : std::nullopt;
  const bool is_its = home && home->task.tid == tid && proc.verify(home->task);
  return is_its ? home : std::nullopt;
}

Status restore_affinity(const ThreadSched& sched, pid_t tid,
                        const CpuSet& affinity) {
  if (affinity.empty()) return sched.set_widest_affinity(tid);
  Status mask = sched.set_affinity(tid, affinity);
  if (!mask && mask.error().saved_errno == EINVAL) {
    mask = sched.set_widest_affinity(tid);
  }
  return mask;
}

Result<std::set<pid_t>> read_pids(const CgroupFs& fs, const std::string& file) {
  auto text = fs.read_file(file);
  if (!text && text.error().code == Code::kNotFound) return std::set<pid_t>{};
  if (!text) return std::move(text).error();
  auto pids = parse_pid_list(*text);
  if (!pids) return std::move(pids).error();
  return std::set<pid_t>(pids->begin(), pids->end());
}

Error bad_device(std::string_view device) {
  return invalid("\"" + printable(device) +
                 "\" is no block device that can be limited; allowed: "
                 "MAJOR:MINOR of a whole disk");
}

Status check_io_limit(std::string_view device, uint64_t rate_bytes_per_s) {
  if (!is_device(device)) return bad_device(device);
  if (rate_bytes_per_s == 0) return invalid("an I/O limit of 0 bytes/s");
  return Done{};
}

Status device_checked(Status written, std::string_view device) {
  const int why = written ? 0 : written.error().saved_errno;
  if (why == ENODEV || why == ENXIO || why == EINVAL) return bad_device(device);
  return written;
}

// EACCES: more than the parent has; EINVAL: than the machine has; ERANGE: than
// the kernel supports.
Status cpus_checked(Status written) {
  const int why = written ? 0 : written.error().saved_errno;
  if (why == EACCES || why == EINVAL || why == ERANGE) {
    written.error().code = Code::kInvalidArgument;
  }
  return written;
}

Error not_sent(Error sent, Status back) {
  if (back || back.error().code == Code::kNotFound) return sent;
  return std::move(back.error())
      .wrap(sent.message + "; half-way, and not brought home");
}

}  // namespace penstock
