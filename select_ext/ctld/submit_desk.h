// penstockctld's side of job_submit_penstock.so: publishes the demand table and
// receives submissions. One thread, in the event loop; job submission does not
// depend on it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/event_loop.h"
#include "common/unique_fd.h"
#include "select_ext/ctld/slurm_poller.h"
#include "select_ext/ctld/submission_count.h"
#include "select_ext/job_submit/table_writer.h"

namespace penstock {

class SubmitDesk {
 public:
  // Both outlive the desk.
  SubmitDesk(EventLoop& loop, const Config& config)
      : loop_(loop), config_(config) {}
  ~SubmitDesk();  // removes the socket
  SubmitDesk(const SubmitDesk&) = delete;
  SubmitDesk& operator=(const SubmitDesk&) = delete;

  // A component that fails to start is logged and left out.
  // Errors: kIo  the event loop takes no more
  [[nodiscard]] Status start();

  // Lets `user` send to the socket; before that only our own user and root can.
  void set_slurm_user(uid_t user);
  // Pending jobs, whose requests the table must list.
  void set_waiting(const std::vector<WaitingJob>& jobs);
  // Reloads the profiles and publishes the table.
  void reload_profiles();

 private:
  [[nodiscard]] Status bind_socket();
  void hear();
  void load_models();
  [[nodiscard]] Status publish_now();
  void publish();

  EventLoop& loop_;
  const Config& config_;
  UniqueFd socket_;
  UniqueFd socket_file_;  // the socket's file as bound
  SubmissionCount count_;
  std::optional<job_submit::TableWriter> table_;
  std::vector<job_submit::ModelDemand> models_;
  std::vector<job_submit::JobDemand> waiting_;
  std::string fault_;  // last logged fault; "": none
};

}  // namespace penstock
