// The plugin's state from init() to fini(). Only init() writes it, except the
// counters: any number of threads run the hooks at once.
#pragma once

#include <atomic>

#include "common/config.h"
#include "common/options.h"
#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/submission.h"
#include "select_ext/job_submit/table_reader.h"

namespace penstock::job_submit {

// Trivially destructible, so that unloading the plugin runs no code.
struct State {
  bool is_ready = false;  // false: bad penstock.conf; jobs pass
  OptionLimits limits;
  bool default_auto = false;
  GresLimits gres;
  SubmitComment comment = SubmitComment::kNo;
  TableReader table;

  int socket = -1;
  char socket_path[108] = "";
  uint64_t load_ns = 0;  // CLOCK_REALTIME

  std::atomic<bool> fault_said = false;  // a fault of the table is logged
  std::atomic<uint64_t> datagrams = 0;   // attempted
  std::atomic<uint64_t> not_sent = 0;
  std::atomic<uint64_t> hooks = 0;
  std::atomic<uint32_t> buckets[kBuckets] = {};
};
State& state();

// Reads penstock.conf beside slurm.conf, maps the table and creates the socket.
// A failure is logged, and the plugin works without that part.
void start();
void stop();

// Sends without waiting. A datagram that cannot be sent is counted and dropped.
// Fills in header, numbers, times and statistics.
void send_submission(Submission& submission);

// Adds the lifetime of this object, one hook's run time, to the statistics.
class HookTimer {
 public:
  HookTimer();
  ~HookTimer();
  HookTimer(const HookTimer&) = delete;
  HookTimer& operator=(const HookTimer&) = delete;

 private:
  uint64_t start_ns_;
};

}  // namespace penstock::job_submit
