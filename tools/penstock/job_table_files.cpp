// The job table as CSV and JSON.
#include <algorithm>
#include <cmath>

#include "select_ext/ctld/answers.h"
#include "tools/penstock/csv.h"
#include "tools/penstock/job_table.h"
#include "tools/penstock/stall_shares.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr double kHour_s = 3600;
constexpr double kPercent = 100;

std::optional<double> scaled(const std::optional<double>& value,
                             double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

std::string percent(const RunTotals& run, const std::optional<double>& part_s) {
  if (!run.wall_s || !(*run.wall_s > 0)) return "";
  return csv_number(scaled(part_s, kPercent / *run.wall_s));
}

std::string count(const std::optional<uint32_t>& value) {
  return value ? std::to_string(*value) : "";
}

std::vector<std::string> csv_fields(const JobRecord& job) {
  const RunTotals& run = job.run;
  return {csv_text(job_label(job)),
          std::to_string(job.job_id),
          count(job.array_job_id),
          count(job.array_task_id),
          std::to_string(job.restart_count),
          csv_text(job.user),
          csv_text(job.name),
          csv_text(job.state),
          csv_number(job.start_unix_s),
          csv_number(job.end_unix_s),
          csv_number(ran_s(job)),
          std::to_string(job.ranks),
          std::to_string(job.gpus),
          csv_number(job.mean_rate_samples_per_s),
          csv_number(job.ceiling_samples_per_s),
          csv_number(run.floor_samples_per_s),
          csv_number(run.wall_s),
          percent(run, run.compute_s),
          percent(run, run.fetch_stall_s),
          percent(run, run.prep_stall_s),
          percent(run, run.exchange_stall_s),
          percent(run, unattributed_s(run)),
          percent(run, run.waited_s),
          csv_number(stalled_gpu_h(job)),
          csv_number(scaled(run.home_core_s, 1 / kHour_s)),
          csv_number(scaled(run.away_core_s, 1 / kHour_s)),
          csv_number(scaled(run.lent_core_s, 1 / kHour_s)),
          csv_text(verdict_word(run))};
}

json row_of(const JobRecord& job) {
  json row = history_row(job);
  const auto unattributed = unattributed_s(job.run);
  const auto stalled = stalled_gpu_h(job);
  row["job"] = job_label(job);
  row["ran_s"] = ran_s(job);
  row["unattributed_s"] = unattributed ? json(*unattributed) : json();
  row["stalled_gpu_h"] = stalled ? json(*stalled) : json();
  row["verdict"] = verdict_word(job.run);
  return row;
}

}  // namespace

std::string job_table_csv(const JobTable& table) {
  std::string text = csv_record({"job",
                                 "job_id",
                                 "array_job_id",
                                 "array_task_id",
                                 "restart_count",
                                 "user",
                                 "name",
                                 "state",
                                 "start_unix_s",
                                 "end_unix_s",
                                 "ran_s",
                                 "ranks",
                                 "gpus",
                                 "rate_samples_per_s_per_rank",
                                 "ceiling_samples_per_s_per_rank",
                                 "floor_samples_per_s_per_rank",
                                 "wall_s",
                                 "compute_percent",
                                 "fetch_stall_percent",
                                 "prep_stall_percent",
                                 "exchange_stall_percent",
                                 "unattributed_percent",
                                 "waited_percent",
                                 "stalled_gpu_h",
                                 "own_core_h",
                                 "borrowed_core_h",
                                 "lent_core_h",
                                 "verdict"});
  for (const JobRecord& job : table.jobs) text += csv_record(csv_fields(job));
  return text;
}

json job_table_json(const JobTable& table) {
  json jobs = json::array();
  for (const JobRecord& job : table.jobs) jobs.push_back(row_of(job));
  json totals = to_json(table.totals);
  totals["unattributed_gpu_h"] = table.totals.unattributed_gpu_h();
  return {
      {"schema_version", kClusterSchemaVersion},
      {"kind", "job_stalls"},
      {"since_unix_s", table.since_unix_s},
      {"array_job_id", table.array_job_id ? json(*table.array_job_id) : json()},
      {"jobs", std::move(jobs)},
      {"totals", std::move(totals)}};
}

}  // namespace penstock
