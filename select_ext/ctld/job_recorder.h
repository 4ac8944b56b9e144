// Builds job records (job_record.h) from the reports of agents and Slurm on
// managed jobs. Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "select_ext/ctld/controller.h"
#include "select_ext/ctld/slurm_jobs.h"
#include "wire/job_record.h"

namespace penstock {

// A job is recorded once an agent has reported ranks of it and Slurm its
// submission. It is recorded again after each report, and for the last time
// when Slurm reports the end of the run. If Slurm never reports anything, the
// record is made 60 s after the last rank has ended.
class JobRecorder {
 public:
  // Slurm's cluster name, for records made from now on.
  void set_cluster(const std::string& name) { cluster_ = name; }
  void on_cluster(const ClusterEvent& event, double now_unix_s);
  void on_slurm(const SlurmEvent& event, double now_unix_s);

  // Slurm will report: a job's kind stays unknown until it has.
  void expect_slurm() { expects_slurm_ = true; }
  // nullopt: the job is not managed, or Slurm has not reported it yet.
  struct Kind {
    uint32_t uid = 0;
    std::string kind;  // job_kind()
  };
  std::optional<Kind> kind_of(uint64_t job) const;

  // Records that are new or have changed since the last call.
  std::vector<JobRecord> take(double now_unix_s);

  size_t known_jobs() const { return jobs_.size(); }

 private:
  struct Managed {
    std::map<std::string, JobPart> parts;  // by node; running parts only
    JobPart last;                          // the last report
    double ranks = 0;                      // maximum at one time
    double measured_since_unix_s = 0;      // 0: nothing measured yet
    double measured_s = 0;
    double idle_since_unix_s = 0;          // end of the last rank; 0: some run
    std::map<std::string, JobPart> words;  // by node: last report, ended too
    std::optional<double> ceiling, loader_cpu_s, storage_bytes;
    bool is_new = false;  // changed since take()
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
