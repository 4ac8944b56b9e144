// The two Slurms of `penstock bench submit`, and job submission to them.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Runs both for the lifetime of the object, in a child process
// (bench/submit/two_slurms.py).
class TwoSlurms {
 public:
  // Errors: kUnavailable  they did not start; the child has printed the reason
  [[nodiscard]] static Result<TwoSlurms> start(const std::string& table,
                                               const std::string& socket_path);

  TwoSlurms(TwoSlurms&&) noexcept;
  TwoSlurms& operator=(TwoSlurms&&) = delete;
  ~TwoSlurms();  // waits until both are removed

  // The value of SLURM_CONF for each.
  const std::string& with_plugin() const { return with_plugin_; }
  const std::string& without_plugin() const { return without_plugin_; }

 private:
  TwoSlurms() = default;
  Status read_confs(int from_child);

  pid_t child_ = -1;
  UniqueFd to_child_;
  std::string with_plugin_;
  std::string without_plugin_;
};

// Submits one held job with sbatch and waits for sbatch to end. Returns the
// elapsed seconds.
// Errors: kUnavailable  sbatch failed and has printed the reason
[[nodiscard]] Result<double> submit_held_job_s(const std::string& slurm_conf);

}  // namespace penstock
