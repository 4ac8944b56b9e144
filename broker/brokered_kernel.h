// The kernel as penstockd sees it: what an unprivileged user may read it reads
// itself, and the broker does the rest. Each object uses one BrokerClient,
// which must outlive it.
#pragma once

#include "broker/client.h"
#include "cgroup/cgroup_fs.h"
#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"

namespace penstock {

class BrokeredFs final : public CgroupFs {
 public:
  BrokeredFs(UniqueFd root_fd, const BrokerClient& broker)
      : CgroupFs(std::move(root_fd)), broker_(&broker) {}

  Status make_dir(std::string_view path) const override;
  Status remove_dir(std::string_view path) const override;
  Status write_file(std::string_view path,
                    std::string_view text) const override;
  Result<std::string> read_mark(std::string_view path,
                                const std::string& name) const override;
  Status write_mark(std::string_view path, const std::string& name,
                    const std::string& text) const override;
  Status remove_mark(std::string_view path,
                     const std::string& name) const override;
  uid_t maker() const override { return 0; }
  Status check_writable(std::string_view path) const override;

 private:
  const BrokerClient* broker_;
};

class BrokeredProc final : public ProcReader {
 public:
  BrokeredProc(ProcReader proc, const BrokerClient& broker)
      : ProcReader(std::move(proc)), broker_(&broker) {}

  Result<uint64_t> pid_namespace(pid_t id) const override {
    return broker_->pid_namespace(id);
  }

 private:
  const BrokerClient* broker_;
};

class BrokeredSched final : public ThreadSched {
 public:
  explicit BrokeredSched(const BrokerClient& broker) : broker_(&broker) {}

  Status set_affinity(pid_t tid, const CpuSet& cpus) const override;
  Status set_widest_affinity(pid_t tid) const override;
  Status set_policy(pid_t tid, const SchedPolicy& policy) const override;

 private:
  const BrokerClient* broker_;
};

}  // namespace penstock
