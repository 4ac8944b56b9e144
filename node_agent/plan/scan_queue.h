// Decides which task is scanned next, and when. Pure: time is an argument,
// CLOCK_MONOTONIC.
//
// Jobs control the cost and the frequency of their scans through their forks.
// Scanning is therefore limited to a twentieth of the time. If the pause would
// then exceed kLongPause_ns, the limit is a quarter. No pause exceeds
// kMostPause_ns, so that a new loader is found in time.
//
// Among due jobs, the cheapest (by its last scan) goes first, unless another
// has waited longer by kPatiencePerCost times its own cost, or by
// kMostPatience_ns. A job's wait starts with its first mark, or with its last
// scan if some of its tasks are left. The tasks of a job take turns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "common/job_id.h"

namespace penstock {

class ScanQueue {
 public:
  struct Scan {
    JobId job = 0;
    pid_t task = 0;  // pid of its first process
  };

  void mark(JobId job, pid_t task, uint64_t now_ns);

  // The time of the next take(); nullopt: no task is marked.
  std::optional<uint64_t> next_ns() const;

  // Removes the next due scan and returns it; nullopt: none is due. Call done()
  // after the scan.
  std::optional<Scan> take(uint64_t now_ns);

  // cost_ns: the scan's wall time. A job that makes penstockd wait costs as
  // much as one that makes it work.
  void done(JobId job, uint64_t cost_ns, uint64_t now_ns);

  void forget(JobId job);

  static constexpr uint64_t kDelay_ns = 50'000'000;  // one scan per fork burst
  static constexpr uint64_t kPausePerCost = 20;
  static constexpr uint64_t kLongPause_ns = 1'000'000'000;
  static constexpr uint64_t kLongPausePerCost = 3;
  static constexpr uint64_t kMostPause_ns = 3'000'000'000;
  static constexpr uint64_t kPatiencePerCost = 200;
  static constexpr uint64_t kMostPatience_ns = 10'000'000'000;

 private:
  struct Entry {
    uint64_t marked_ns = 0;  // when the first of the tasks was marked
    uint64_t waits_since_ns = 0;
    uint64_t cost_ns = 0;  // of the last scan
    pid_t last = 0;        // task that was scanned last
    std::set<pid_t> tasks;
    uint64_t due_ns() const;
    uint64_t rank_ns() const;  // among due jobs, the lowest goes first
  };

  std::map<JobId, Entry> jobs_;
  uint64_t resume_ns_ = 0;
};

}  // namespace penstock
