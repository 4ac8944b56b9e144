// Job records (job_record.h) from what agents and Slurm say of managed jobs.
// Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "select_ext/ctld/controller.h"
#include "select_ext/ctld/job_record.h"
#include "select_ext/ctld/slurm_jobs.h"

namespace penstock {

// A job is recorded once an agent has told of ranks of it and Slurm of its
// submission, then whenever one of them says something new, and for the last
// time when Slurm says that the run has ended. Where Slurm is never heard, a
// job's record is made when all its ranks have ended.
class JobRecorder {
 public:
  // Slurm's name of the cluster; of records from now on.
  void set_cluster(const std::string& name) { cluster_ = name; }
  void on_cluster(const ClusterEvent& event, double now_unix_s);
  void on_slurm(const SlurmEvent& event, double now_unix_s);

  // Slurm will be heard: without its word no job's kind is known.
  void expect_slurm() { expects_slurm_ = true; }
  // nullopt: the job is not managed, or Slurm has not told of it yet.
  struct Kind {
    uint32_t uid = 0;
    std::string kind;  // job_kind()
  };
  std::optional<Kind> kind_of(uint64_t job) const;

  // Records that are new or differ from when they were last taken.
  std::vector<JobRecord> take(double now_unix_s);

  size_t known_jobs() const { return jobs_.size(); }

 private:
  struct Managed {
    std::map<std::string, JobPart> parts;  // by node, those that run
    JobPart last;                          // as it was last told
    double ranks = 0;                      // most at once
    double measured_since_unix_s = 0;      // 0: nothing is measured yet
    double measured_s = 0;
    double idle_since_unix_s = 0;          // all ranks have ended; 0: some run
    std::map<std::string, JobPart> words;  // the last of each node, ended too
    std::optional<double> ceiling, loader_cpu_s, storage_bytes;
    bool is_new = false;  // since take()
  };

  void learn(Managed& job, double now_unix_s);
  JobRecord record_of(const Managed& job, const SlurmJob& slurm,
                      double now_unix_s) const;
  JobRecord record_alone(const Managed& job, double now_unix_s) const;
  void end_run(const SlurmEvent& event, double now_unix_s);

  std::string cluster_;
  bool expects_slurm_ = false;
  bool slurm_was_heard_ = false;
  std::map<uint64_t, Managed> jobs_;
  std::map<uint64_t, SlurmJob> slurm_;  // runs that have not ended
  std::vector<JobRecord> ended_;
};

}  // namespace penstock
