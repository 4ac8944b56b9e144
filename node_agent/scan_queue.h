// Which task's processes are looked at next, and when. Pure: time is an
// argument, CLOCK_MONOTONIC.
//
// A job decides by its forks what a scan of it costs, and how often it would be
// scanned. So scanning takes a twentieth of the time; where a pause would be
// longer than kLongPause_ns, a quarter, and no pause is longer than
// kMostPause_ns: past that, a new loader would go unseen for too long. Of the
// jobs that are due, the one whose last scan cost least goes first, unless
// another has waited for kPatiencePerCost times what its own cost, or for
// kMostPatience_ns: from its first mark, or from its last scan where tasks of
// it were left. The tasks of a job take turns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "cgroup/backend.h"

namespace penstock {

class ScanQueue {
 public:
  struct Scan {
    JobId job = 0;
    pid_t task = 0;  // its first process
  };

  void mark(JobId job, pid_t task, uint64_t now_ns);

  // When there is something to take(); nullopt: nothing is marked.
  std::optional<uint64_t> next_ns() const;

  // The scan that is due first, if it is due, of one of its job's marked tasks;
  // done() says when it is over.
  std::optional<Scan> take(uint64_t now_ns);

  // cost_ns: what the scan took, by the clock: whoever makes us wait while we
  // look at it costs as much as who makes us work.
  void done(JobId job, uint64_t cost_ns, uint64_t now_ns);

  void forget(JobId job);

  static constexpr uint64_t kDelay_ns = 50'000'000;  // a burst is one scan
  static constexpr uint64_t kPausePerCost = 20;
  static constexpr uint64_t kLongPause_ns = 1'000'000'000;
  static constexpr uint64_t kLongPausePerCost = 3;
  static constexpr uint64_t kMostPause_ns = 3'000'000'000;
  static constexpr uint64_t kPatiencePerCost = 200;
  static constexpr uint64_t kMostPatience_ns = 10'000'000'000;

 private:
  struct Entry {
    uint64_t marked_ns = 0;  // when the first of the tasks was
    uint64_t waits_since_ns = 0;
    uint64_t cost_ns = 0;  // of the last scan
    pid_t last = 0;        // task that was scanned
    std::set<pid_t> tasks;
    uint64_t due_ns() const;
    uint64_t rank_ns() const;  // the lowest of those that are due goes first
  };

  std::map<JobId, Entry> jobs_;
  uint64_t resume_ns_ = 0;
};

}  // namespace penstock
