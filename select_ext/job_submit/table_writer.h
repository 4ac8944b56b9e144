// penstockctld's side of the demand table.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "predictor/predictor.h"
#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// An entry from a prediction with figures per rank. Figures over the table's
// bounds become unknown.
// Errors: kInvalidArgument  the name is over 64 bytes, or not printable ASCII
[[nodiscard]] Result<ModelDemand> model_demand(const std::string& model,
                                               const Prediction& prediction);

// Owns the file and its lock. Not thread-safe.
class TableWriter {
 public:
  // Opens the table, or creates it empty with mode 0644. An existing file is
  // kept, so that readers with a mapping see the next write.
  // Errors: kUnavailable       another writer has the lock
  //         kPermissionDenied  it belongs to another user
  //         kInvalidArgument   not a regular file
  //         kNotFound, kIo     a system call failed (no space, no directory)
  [[nodiscard]] static Result<TableWriter> open(const std::string& path);

  TableWriter(TableWriter&& other) noexcept;
  TableWriter& operator=(TableWriter&& other) noexcept;
  ~TableWriter();

  // Replaces the whole table. Readers see the old or the new one.
  // Errors: kInvalidArgument  a name or a job twice, or a field out of range
  //         kLimit            over kMaxModels or kMaxJobs; leave out the
  //                           oldest jobs
  // On error the table is not modified.
  [[nodiscard]] Status publish(std::vector<ModelDemand> models,
                               std::vector<JobDemand> jobs,
                               uint64_t published_s);

 private:
  TableWriter(UniqueFd fd, TableImage* mapped);

  UniqueFd fd_;
  TableImage* mapped_ = nullptr;
};

}  // namespace penstock::job_submit
