// Polls Slurm in a thread of its own, because libslurm may block, and hands
// over the changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/slurm_jobs.h"

namespace penstock {

// A pending job that requests loader GRES.
struct WaitingJob {
  uint32_t job_id = 0;
  std::string gres_per_node;

  friend bool operator==(const WaitingJob&, const WaitingJob&) = default;
};

// Thread-safe.
class SlurmPoller {
 public:
  // Slurm's manual asks for two seconds or more between two polls.
  static constexpr int kMinPeriod_ms = 2000;
  // Limit of events not yet taken; at the limit polling pauses until take().
  // High, because the first poll reports every job and node.
  static constexpr size_t kMaxWaiting = 1'000'000;
  // Operators are asked for at every such poll, once a minute.
  static constexpr int kPollsPerOperators = 30;
  // Of these queries in a row, after which nobody is an operator.
  static constexpr int kMostFailures = 3;

  // make       creates the API; called in the thread, again until it succeeds
  // period_ms  under kMinPeriod_ms only without a real Slurm
  // Errors: kUnavailable  no thread or no descriptor available
  using MakeApi = std::function<Result<std::unique_ptr<SlurmApi>>()>;
  [[nodiscard]] static Result<std::unique_ptr<SlurmPoller>> start(
      MakeApi make, int period_ms = kMinPeriod_ms);
  // Waits at most 1 s. A thread that blocks in libslurm is left running and
  // ends by itself.
  ~SlurmPoller();
  SlurmPoller(const SlurmPoller&) = delete;
  SlurmPoller& operator=(const SlurmPoller&) = delete;

  struct News {
    std::vector<SlurmEvent> events;  // in the order in which they happened
    std::optional<SlurmSite> site;   // once, before all events
    // Only if changed since the last report.
    std::optional<std::vector<WaitingJob>> waiting;
    std::optional<std::set<uint32_t>> operators;
    // For the log: the first failure to reach slurmctld, and the recovery.
    std::vector<std::string> remarks;
  };

  // Readable while take() has something to return.
  int ready_fd() const;
  News take();

 private:
  struct Shared;
  explicit SlurmPoller(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;  // shared with the thread
};

}  // namespace penstock
