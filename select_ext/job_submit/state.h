// What the plugin keeps from init() to fini(). Written in init() only, but for
// the counters: any number of threads run the hooks at once.
#pragma once

#include <atomic>

#include "common/options.h"
#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/submission.h"
#include "select_ext/job_submit/table_reader.h"

namespace penstock::job_submit {

enum class CommentField { kNone, kComment, kAdminComment };

// Trivially destructible: nothing happens when Slurm unloads the plugin.
struct State {
  bool is_ready = false;  // false: penstock.conf is damaged; jobs pass as they
                          // are
  OptionLimits limits;
  bool default_auto = false;
  GresLimits gres;
  CommentField comment = CommentField::kNone;
  TableReader table;

  int socket = -1;
  char socket_path[108] = "";
  uint64_t load_ns = 0;  // CLOCK_REALTIME

  std::atomic<bool> fault_said = false;  // the table's, in the log
  std::atomic<uint64_t> datagrams = 0;   // tried
  std::atomic<uint64_t> not_sent = 0;
  std::atomic<uint64_t> hooks = 0;
  std::atomic<uint32_t> buckets[kBuckets] = {};
};
State& state();

// Reads penstock.conf beside slurm.conf, maps the table and makes the socket.
// Whatever fails is said in the log, and the plugin does without it.
void start();
void stop();

// Sends without waiting; a datagram that cannot go is counted and dropped.
// Fills in header, numbers, times and statistics.
void send_submission(Submission& submission);

// One hook's time, from its making to its end, into the statistics.
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
