// /proc of the simulated node, in a temporary directory, and an empty directory
// for the control groups, of which only Slurm's exist there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/unique_fd.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock::model {

class ProcFiles {
 public:
  ProcFiles();

  UniqueFd open_proc() const;
  UniqueFd open_groups() const;

  void add(pid_t tid, pid_t pid);
  void remove(pid_t tid, pid_t pid);
  void write(pid_t tid, const char* file, const std::string& text);
  void write_children(pid_t pid, const std::string& text);
  // Kept open: it is written all the time.
  void write_schedstat(pid_t tid, uint64_t run_ns, uint64_t wait_ns);
  void make_group(const std::string& path) const;
  void remove_group(const std::string& path) const;

 private:
  void write_at(const std::string& path, const std::string& text) const;

  TempDir dir_;
  UniqueFd proc_;
  std::map<pid_t, UniqueFd> schedstats_;
};

}  // namespace penstock::model
