// penstockctld's work besides granting: keeps the history, sends figures of
// earlier runs for jobs that start, polls Slurm, answers commands. One thread,
// in the event loop; jobs do not depend on it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/config.h"
#include "common/event_loop.h"
#include "select_ext/ctld/answerer.h"
#include "select_ext/ctld/earlier_runs.h"
#include "select_ext/ctld/history.h"
#include "select_ext/ctld/job_recorder.h"
#include "select_ext/ctld/service.h"
#include "select_ext/ctld/slurm_poller.h"
#include "select_ext/ctld/submit_desk.h"

namespace penstock {

class Desk {
 public:
  // address  of this controller, for answers
  // All three outlive the desk.
  Desk(EventLoop& loop, ControllerService& service, const Config& config,
       std::string address);

  // A component that fails to start is logged and left out.
  //   make_api  nullptr: built without libslurm
  // Errors: kIo  the event loop takes no more
  [[nodiscard]] Status start(SlurmPoller::MakeApi make_api);

  // Reloads the profiles and publishes the table.
  void reload_profiles() { submit_desk_.reload_profiles(); }

 private:
  void open_history();
  void load_earlier_runs();
  [[nodiscard]] Status start_poller(SlurmPoller::MakeApi make_api);
  void on_cluster(const ClusterEvent& event);
  void keep_report(const ClusterEvent& event);
  void on_slurm();
  void tell_earlier_runs();
  void record();
  [[nodiscard]] Status start_answers();
  void ask(Arrived question);
  std::shared_ptr<const ClusterView> view();

  EventLoop& loop_;
  ControllerService& service_;
  const Config& config_;
  std::string address_;
  JobRecorder recorder_;
  EarlierRuns earlier_runs_;
  std::set<uint64_t> untold_;  // jobs with earlier runs to look up
  SubmitDesk submit_desk_;
  std::unique_ptr<History> history_;     // nullptr: it could not be opened
  std::unique_ptr<SlurmPoller> poller_;  // nullptr: no Slurm
  std::set<uint32_t> operators_;         // of Slurm
  std::optional<uint32_t> slurm_user_;
  std::shared_ptr<const ClusterView> view_;
  double viewed_s_ = -1e9;
  std::unique_ptr<Answerer> answerer_;  // reads the history: ends before it
};

}  // namespace penstock
