// penstockctld's side of the demand table.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "predictor/predictor.h"
#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// An entry from a prediction, whose figures are per rank. Figures over the
// table's bounds become unknown.
// Errors: kInvalidArgument  the name has over 64 bytes, or bytes outside
//                           printable ASCII
[[nodiscard]] Result<ModelDemand> model_demand(const std::string& model,
                                               const Prediction& prediction);

// Holds the file and its lock as long as it lives. Not thread-safe.
class TableWriter {
 public:
  // Opens path or makes it, with mode 0644, as an empty table. A file that is
  // there is kept, so that readers that have mapped it see the next write.
  // Errors: kUnavailable       another writer has it
  //         kPermissionDenied  it belongs to another user
  //         kInvalidArgument   not a regular file
  //         kNotFound, kIo     a system call failed (no space, no directory)
  [[nodiscard]] static Result<TableWriter> open(const std::string& path);

  TableWriter(TableWriter&& other) noexcept;
  TableWriter& operator=(TableWriter&& other) noexcept;
  ~TableWriter();

  // Replaces all of the table. Readers see the old one or the new one.
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
