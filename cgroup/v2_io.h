// I/O limits of one job on v2: io.max of the job's group.
#pragma once

#include <map>
#include <string>

#include "cgroup/v2_tree.h"

namespace penstock {

class V2IoLimits {
 public:
  // job: path of its group.
  V2IoLimits(V2Tree tree, JobId id, std::string job)
      : tree_(std::move(tree)), id_(id), job_(std::move(job)) {}

  // Enables io for the job.
  // Errors: as Backend::set_io_limit.
  [[nodiscard]] Status require_io() const;
  [[nodiscard]] Status set(const std::string& device,
                           uint64_t rate_bytes_per_s);
  [[nodiscard]] Status clear(const std::string& device);
  [[nodiscard]] Result<uint64_t> read_bytes(std::string_view device) const;
  // Restores our limits where others have overwritten them.
  [[nodiscard]] Status restore();
  // Keeps restore() from restoring any; lift_io_limits() removes them.
  void end();

 private:
  struct Limit {
    uint64_t wanted_bytes_per_s = 0;
    uint64_t written_bytes_per_s = 0;  // lower of wanted and the site's own
  };

  Status note_sites_limits();
  Status put(const std::string& device, uint64_t rate_bytes_per_s);

  V2Tree tree_;
  JobId id_;
  std::string job_;
  std::map<std::string, Limit> limits_;  // by device
};

// Restores the site's limits of a job, also after a crashed run.
[[nodiscard]] Status lift_io_limits(const V2Tree& tree, const std::string& job);

// Disables io in a scope where require_io() has enabled it.
[[nodiscard]] Status disable_io(const V2Tree& tree, const std::string& scope);

}  // namespace penstock
