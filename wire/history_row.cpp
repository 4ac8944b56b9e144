#include "wire/history_row.h"

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {
template <class Visitor, ConstOrNot<JobRecord> Struct>
void visit_fields(Visitor& visit, Struct& job) {
  visit("cluster", job.cluster);
  visit("job_id", job.job_id);
  visit("restart_count", job.restart_count);
  visit("array_job_id", job.array_job_id);
  visit("array_task_id", job.array_task_id);
  visit("het_job_id", job.het_job_id);
  visit("het_offset", job.het_offset);
  visit("uid", job.uid);
  visit("user", job.user);
  visit("account", job.account);
  visit("name", job.name);
  visit("kind", job.kind);
  visit("nodes", job.nodes);
  visit("ranks", job.ranks);
  visit("gpus", job.gpus);
  visit("model", job.model);
  visit("batch", job.batch);
  visit("state", job.state);
  visit("submit_unix_s", job.submit_unix_s);
  visit("start_unix_s", job.start_unix_s);
  visit("end_unix_s", job.end_unix_s);
  visit("last_seen_unix_s", job.last_seen_unix_s);
  visit("measured_s", job.measured_s);
  visit("ceiling_samples_per_s", job.ceiling_samples_per_s);
  visit("mean_rate_samples_per_s", job.mean_rate_samples_per_s);
  visit("loader_cpu_s_per_sample", job.loader_cpu_s_per_sample);
  visit("storage_bytes_per_sample", job.storage_bytes_per_sample);
  visit("trainer_reserve_cores", job.trainer_reserve_cores);
  visit("grant_changes", job.grant_changes);
  for (const RunField& field : kRunFields) visit(field.name, field.of(job.run));
}

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
