// penstockctld's side of job_submit_penstock.so: publishes the demand table and
// hears of submissions. One thread, in the event loop; jobs are submitted
// without it.
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

  // What does not come up is logged and left out.
  // Errors: kIo  the event loop takes no more
  [[nodiscard]] Status start();

  // Who may write to the socket; until then root alone.
  void set_slurm_user(uid_t user);
  // Jobs that wait, of which the table must know what they ask for.
  void set_waiting(const std::vector<WaitingJob>& jobs);
  // Reads the profiles anew and publishes what they say.
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
  UniqueFd socket_file_;  // its name, as it was bound
  SubmissionCount count_;
  std::optional<job_submit::TableWriter> table_;
  std::vector<job_submit::ModelDemand> models_;
  std::vector<job_submit::JobDemand> waiting_;
  std::string fault_;  // of the last time; "": none
};

}  // namespace penstock
