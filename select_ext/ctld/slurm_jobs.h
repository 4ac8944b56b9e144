// What has happened between two looks at Slurm's jobs. Pure; not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "select_ext/ctld/slurm_api.h"

namespace penstock {

struct SlurmEvent {
  enum class Kind {
    kStarted,
    kEnded,     // job.state says how; "LOST" where Slurm forgot it meanwhile
    kRequeued,  // this run has ended, the job waits for another
    kResized,   // other nodes or another number of CPUs
    kSuspended,
    kResumed,
    kNodeCpus,  // node is new or has another number of CPUs; 0: it is gone
  };
  Kind kind = Kind::kStarted;
  // As it is now; of kRequeued and "LOST" as it was last. Of kEnded with the
  // nodes and CPUs that it was last seen to hold.
  SlurmJob job;
  SlurmNode node;  // of kNodeCpus

  friend bool operator==(const SlurmEvent&, const SlurmEvent&) = default;
};

class SlurmJobs {
 public:
  // Events in the order in which they must be applied, all of one job
  // together, jobs by their number. A run that began and ended since the last
  // look gives both events as long as Slurm still shows it (MinJobAge), and so
  // does the first look for the runs that have ended lately: whoever keeps
  // records must take a record twice.
  std::vector<SlurmEvent> look(const std::vector<SlurmJob>& jobs);
  std::vector<SlurmEvent> look(const std::vector<SlurmNode>& nodes);

 private:
  std::map<uint32_t, SlurmJob> jobs_;  // as last seen, by job_id
  std::map<std::string, uint32_t> cpus_;
};

// GPUs in Slurm's list of generic resources, "gpu:2" or "gpu:a100:2,gpu:t4:1".
//
uint32_t gpus_of_gres(const std::string& gres);

}  // namespace penstock
