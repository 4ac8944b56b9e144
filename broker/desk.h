// Carries out penstockd's requests, one at a time, after checking each by the
// rules against what the kernel says at that moment. Parses nothing that a user
// or another node wrote. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "broker/cache_sweep.h"
#include "broker/message.h"
#include "broker/rules.h"
#include "broker/workers.h"
#include "cgroup/cgroup_fs.h"
#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "common/unique_fd.h"

namespace penstock {

class BrokerDesk {
 public:
  struct Settings {
    std::string socket_path;
    std::string state_dir;
    std::string report_dir;
    uid_t user = 0;  // AgentUser's; 0: none
    // MetricsFile in penstock.conf, as it is now.
    std::function<std::string()> metrics_file;
  };

  // fs, proc and sched must outlive the desk.
  BrokerDesk(const CgroupFs& fs, const ProcReader& proc,
             const ThreadSched& sched, BrokerRules rules, Settings settings)
      : fs_(fs),
        proc_(proc),
        sched_(sched),
        rules_(std::move(rules)),
        settings_(std::move(settings)) {}
  ~BrokerDesk() { stop_listening(); }
  BrokerDesk(const BrokerDesk&) = delete;
  BrokerDesk& operator=(const BrokerDesk&) = delete;

  struct Answer {
    BrokerReply reply;
    UniqueFd fd;  // sent with it
  };
  // fds: came with the request.
  Answer carry_out(const BrokerRequest& request,
                   const std::vector<UniqueFd>& fds);

 private:
  Status change(const BrokerRequest& request);
  Status scope_is_roots(const std::string& path) const;
  Status may_change(const BrokerRequest& request) const;
  Status may_move(const BrokerRequest& request) const;
  Result<std::string> read_mark(const BrokerRequest& request) const;
  Status set_affinity(const BrokerRequest& request) const;
  Status set_policy(const BrokerRequest& request) const;
  Status is_of_job(pid_t tid) const;
  Result<ProcCgroups> groups_of(pid_t tid) const;
  Status give_directories();
  Result<UniqueFd> listen();
  void stop_listening();
  Status have_done(const BrokerRequest& request,
                   const std::vector<UniqueFd>& fds);
  Status read_user_file(const BrokerRequest& request, int answer);
  Status look_at_reads(const BrokerRequest& request, int answer);
  bool is_metrics_file(const std::string& path);

  const CgroupFs& fs_;
  const ProcReader& proc_;
  const ThreadSched& sched_;
  const BrokerRules rules_;
  Workers workers_;
  CacheSweep cache_sweep_;
  const Settings settings_;
  std::set<std::string> metrics_files_;  // of penstock.conf, now or before
  std::string socket_;  // identity of its file; "": does not listen
};

}  // namespace penstock
