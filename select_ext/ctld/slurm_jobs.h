// Compares two polls of Slurm's jobs and nodes. Pure; not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "select_ext/ctld/slurm_api.h"

namespace penstock {

struct SlurmEvent {
  enum class Kind {
    kStarted,
    kEnded,     // job.state says how; "LOST": Slurm no longer shows it
    kRequeued,  // this run has ended, the job waits for another
    kResized,   // other nodes or another number of CPUs
    kSuspended,
    kResumed,
    kNodeCpus,  // node is new or its number of CPUs changed; 0: removed
  };
  Kind kind = Kind::kStarted;
  // The present state; for kRequeued and "LOST" the last one. kEnded has the
  // nodes and CPUs that the job was last seen to hold.
  SlurmJob job;
  SlurmNode node;  // of kNodeCpus

  friend bool operator==(const SlurmEvent&, const SlurmEvent&) = default;
};

class SlurmJobs {
 public:
  // Events in the order in which they must be applied: jobs by id, all events
  // of a job together. A run that began and ended since the last poll gives
  // both events while Slurm still shows it (MinJobAge). The first poll does the
  // same for runs that ended lately, so a keeper of records must accept a
  // record twice.
  std::vector<SlurmEvent> look(const std::vector<SlurmJob>& jobs);
  std::vector<SlurmEvent> look(const std::vector<SlurmNode>& nodes);

 private:
  std::map<uint32_t, SlurmJob> jobs_;  // as last seen, by job_id
  std::map<std::string, uint32_t> cpus_;
};

// GPUs in Slurm's list of generic resources, "gpu:2" or "gpu:a100:2,gpu:t4:1".
uint32_t gpus_of_gres(const std::string& gres);

}  // namespace penstock
