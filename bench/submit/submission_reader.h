// Replaces penstockctld in `penstock bench submit`: a process that reads the
// plugin's datagrams. It can be stopped to imitate a hanging daemon.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "select_ext/job_submit/submission.h"

namespace penstock {

class SubmissionReader {
 public:
  // Binds socket_path and starts the process.
  // Errors: kIo and the like  a system call failed
  [[nodiscard]] static Result<SubmissionReader> start(
      const std::string& socket_path);

  SubmissionReader(SubmissionReader&&) noexcept;
  SubmissionReader& operator=(SubmissionReader&&) = delete;
  ~SubmissionReader();  // ends the process

  void stop() const;  // SIGSTOP, and waits until it has stopped
  void go_on() const;

  // The next datagram read by the process.
  // Errors: kUnavailable      none within 10 s
  //         kInvalidArgument  not a datagram of the plugin
  [[nodiscard]] Result<job_submit::Submission> next() const;
  // Waits for a datagram and returns the latest one; earlier ones are
  // discarded.
  [[nodiscard]] Result<job_submit::Submission> last() const;

 private:
  SubmissionReader(pid_t process, UniqueFd from_process)
      : process_(process), from_process_(std::move(from_process)) {}

  pid_t process_ = -1;
  UniqueFd from_process_;
};

}  // namespace penstock
