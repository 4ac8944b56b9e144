// Real control groups with a unique name for a test, and a child process with
// threads to move.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "cgroup/v1_backend.h"

namespace penstock {

class LiveCgroups {
 public:
  // Why this machine cannot run the test; "" where it can.
  static std::string missing();

  explicit LiveCgroups(bool away_yields = true);
  ~LiveCgroups();  // sweeps

  V1Backend& backend() { return *backend_; }
  const CgroupFs& fs() const { return fs_; }
  const ProcReader& proc() const { return proc_; }
  const ThreadSched& sched() const { return sched_; }
  const V1Mounts& mounts() const { return mounts_; }
  const std::string& name() const { return name_; }
  // True while any hierarchy has a group of this test.
  bool anything_left() const;

 private:
  CgroupFs fs_;
  ProcReader proc_;
  ThreadSched sched_;
  V1Mounts mounts_;
  std::string name_;
  std::optional<V1Backend> backend_;
};

// A child with `threads` threads that sleep, or spin; ended and reaped at the
// end.
class Child {
 public:
  explicit Child(int threads, bool spins = false);
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  void end();

 private:
  pid_t pid_ = -1;
};

}  // namespace penstock
