// The simulated node: the real Agent on a simulated kernel, with Slurm, jobs,
// hostile users and an admin that act at random, through penstockd's socket.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cgroup/v1_backend.h"
#include "common/event_loop.h"
#include "node_agent/agent.h"
#include "tests/model/calls.h"
#include "tests/model/kernel.h"
#include "tests/model/local_broker.h"
#include "tests/model/node_checks.h"
#include "tests/model/node_jobs.h"
#include "tests/model/socket_client.h"

namespace penstock::model {

class NodeWorld {
 public:
  explicit NodeWorld(Trial& trial);
  ~NodeWorld();
  void run();

 private:
  enum class End { kNone, kStop, kCrash };

  void boot();
  void shut_down();
  void idle();
  void act();
  void pass();
  void rest();

  // Slurm
  void start_job();
  void announce(SimJob& job, pid_t pid);
  void end_process_of(SimJob& job);
  void end_job(SimJob& job);
  void clear_away();
  void end_limits();
  // Jobs
  void fork_or_thread(SimJob& job);
  void tell(SimJob& job);
  void let_run(double seconds);
  // Others
  void administer();
  SimJob* random_job();

  Trial& trial_;
  Calls calls_;
  Kernel kernel_;
  TempDir dir_;
  UniqueFd state_dir_;
  Config config_;
  NodeFacts facts_;
  NodeChecks checks_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<LocalBroker> broker_;
  std::unique_ptr<V1Backend> backend_;
  std::unique_ptr<Agent> agent_;
  SocketClient client_;
  End end_ = End::kNone;
  uint32_t clean_ups_ = 0;
  uint32_t next_job_ = 1;
  uint64_t busy_ticks_[Kernel::kCpus] = {};
  uint64_t all_ticks_ = 0;
  uint64_t rest_at_ = 0;  // the step of the next rest
  int resting_ = 0;       // turns of the present rest
};

}  // namespace penstock::model
