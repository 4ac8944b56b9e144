// Looks at Slurm from a thread of its own, because libslurm may block, and
// hands over what has changed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/slurm_jobs.h"

namespace penstock {

// A job that waits and asks for GRES of a loader.
struct WaitingJob {
  uint32_t job_id = 0;
  std::string gres_per_node;

  friend bool operator==(const WaitingJob&, const WaitingJob&) = default;
};

// Thread-safe.
class SlurmPoller {
 public:
  // Slurm's manual asks for two seconds or more between two looks.
  static constexpr int kMinPeriod_ms = 2000;
  // The first look tells everything at once; more than so many events mean
  // that nobody takes them, and looking stops until somebody does.
  static constexpr size_t kMaxWaiting = 1'000'000;

  // make       makes the api; called in the thread, and again while it fails
  // period_ms  less than kMinPeriod_ms only where no Slurm is asked
  // Errors: kUnavailable  no thread, no descriptor
  using MakeApi = std::function<Result<std::unique_ptr<SlurmApi>>()>;
  [[nodiscard]] static Result<std::unique_ptr<SlurmPoller>> start(
      MakeApi make, int period_ms = kMinPeriod_ms);
  // Waits a second at most: a thread that blocks in libslurm is left behind
  // and ends by itself.
  ~SlurmPoller();
  SlurmPoller(const SlurmPoller&) = delete;
  SlurmPoller& operator=(const SlurmPoller&) = delete;

  struct News {
    std::vector<SlurmEvent> events;  // in the order in which they happened
    std::optional<SlurmSite> site;   // once, before all events
    // Where they differ from what was last told.
    std::optional<std::vector<WaitingJob>> waiting;
    // For the log: that slurmctld cannot be asked, once; that it can again.
    std::vector<std::string> remarks;
  };

  // Readable while take() has something.
  int ready_fd() const;
  News take();

 private:
  struct Shared;
  explicit SlurmPoller(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;  // with its thread
};

}  // namespace penstock
