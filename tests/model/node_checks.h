// The invariants of a node, from what the kernel has: whatever penstockd did,
// owners keep their CPUs, and nothing of it stays behind.
#pragma once

#include <map>
#include <string>

#include "tests/model/node_jobs.h"

namespace penstock::model {

class NodeChecks {
 public:
  NodeChecks(Trial& trial, const NodeFacts& facts)
      : trial_(trial), facts_(facts) {}

  // Call whenever penstockd waits. What penstockd learns only from its next
  // sample, or could not do because a call failed, must be right within
  // kGrace_s in which no call fails.
  void look();
  // At once: a task that was announced has its CPUs for itself.
  void look_at_start(const SimJob& job, pid_t pid);
  // While nothing runs, and what is remembered for a time is forgotten.
  void look_at_rest();
  // Of a run: it has tested something.
  void look_at_end() const;
  // penstockd was restarted.
  void forget_doubts() { doubts_.clear(); }

  static constexpr int kGrace_s = 3;

 private:
  struct Doubt {
    double counted_s = 0;
    int seconds = 0;
    bool is_seen = false;  // at this look
  };

  void doubt(bool holds, std::string what);
  void look_at_away(pid_t tid, const Thread& thread, const SimJob* job);
  void look_at_home(pid_t tid, const Thread& thread, const SimJob& job);
  void look_at_groups();
  bool may_use(const SimJob& borrower, int cpu) const;
  bool lends_to(const SimJob& owner, const SimJob& borrower) const;

  Trial& trial_;
  const NodeFacts& facts_;
  std::map<std::string, Doubt> doubts_;
  bool has_seen_loan_ = false;
  size_t rests_ = 0;
  size_t heap_bytes_ = 0;  // in use after the first rests
  size_t fds_ = 0;
};

}  // namespace penstock::model
