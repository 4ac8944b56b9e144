#include "wire/history_row.h"

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {
using nlohmann::json;

json history_row(const JobRecord& job) {
  json row = write_fields<json>(job);
  for (json& field : row) {
    if (field == "") field = nullptr;
  }
  if (job.batch == 0) row["batch"] = nullptr;
  return row;
}

JobRecord read_history_row(const json& row) {
  // Nothing is refused.
  JobRecord job = read_fields<JobRecord>(row, {}).value_or({});
  job.run = within_bounds(job.run);
  return job;
}

}  // namespace penstock
