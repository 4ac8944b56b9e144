// Parsers for /proc/PID/*. Pure. Every function accepts hostile bytes (a
// process chooses its own name). Malformed text gives kInvalidArgument.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

// Controller ("cpu", "name=systemd"; "" for the v2 hierarchy) -> path from
// that hierarchy's root ("/slurm_n1/uid_0/job_3"). "4:cpu,cpuacct:/x" gives
// two entries.
using ProcCgroups = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] Result<ProcCgroups> parse_proc_cgroup(std::string_view text);

// /proc/PID/stat or /proc/PID/task/TID/stat. Ticks: sysconf(_SC_CLK_TCK).
struct ProcStat {
  pid_t pid = 0;
  std::string comm;  // chosen by the process; may hold ' ' and ')'
  char state = '?';  // 'Z' and 'X' count as dead
  pid_t ppid = 0;
  int threads = 0;
  uint64_t starttime_ticks = 0;  // since boot; with the pid, an identity
  int processor = 0;             // CPU that it last ran on

  bool dead() const { return state == 'Z' || state == 'X' || state == 'x'; }
};
[[nodiscard]] Result<ProcStat> parse_stat(std::string_view text);

// /proc/PID/schedstat: of one thread; for a process id, of its main thread.
struct SchedStat {
  uint64_t run_ns = 0;   // on a CPU
  uint64_t wait_ns = 0;  // runnable, waiting for a CPU
};
[[nodiscard]] Result<SchedStat> parse_schedstat(std::string_view text);

// /proc/PID/status.
struct ProcStatus {
  pid_t tgid = 0;  // the process that a thread belongs to
  uid_t real_uid = 0;
  gid_t real_gid = 0;
  // Real, effective, saved and file system ids are equal.
  bool has_one_user = false;
  std::vector<pid_t> ns_pids;  // outermost namespace first; may be empty
};
[[nodiscard]] Result<ProcStatus> parse_status(std::string_view text);

// Decimal ids between white space: tasks, cgroup.procs, task/TID/children.
[[nodiscard]] Result<std::vector<pid_t>> parse_pid_list(std::string_view text);

}  // namespace penstock
