// The job table as CSV and JSON.
#include <algorithm>
#include <cmath>
#include <functional>

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

using AddColumn = std::function<void(const std::string&, std::string)>;

void add_columns(const JobRecord& job, const AddColumn& add) {
  const RunTotals& run = job.run;
  add("job", csv_text(job_label(job)));
  add("job_id", std::to_string(job.job_id));
  add("array_job_id", count(job.array_job_id));
  add("array_task_id", count(job.array_task_id));
  add("restart_count", std::to_string(job.restart_count));
  add("user", csv_text(job.user));
  add("name", csv_text(job.name));
  add("state", csv_text(job.state));
  add("start_unix_s", csv_number(job.start_unix_s));
  add("end_unix_s", csv_number(job.end_unix_s));
  add("ran_s", csv_number(ran_s(job)));
  add("ranks", std::to_string(job.ranks));
  add("gpus", std::to_string(job.gpus));
  add("rate_samples_per_s_per_rank", csv_number(job.mean_rate_samples_per_s));
  add("ceiling_samples_per_s_per_rank", csv_number(job.ceiling_samples_per_s));
  add("floor_samples_per_s_per_rank", csv_number(run.floor_samples_per_s));
  add("wall_s", csv_number(run.wall_s));
  for (const WallPartNames& it : kWallParts) {
    add(std::string(it.key) + "_percent", percent(run, run.parts_s[it.part]));
  }
  add("unattributed_percent", percent(run, unattributed_s(run)));
  add("waited_percent", percent(run, run.waited_s));
  add("stalled_gpu_h", csv_number(stalled_gpu_h(job)));
  add("own_core_h", csv_number(scaled(run.home_core_s, 1 / kHour_s)));
  add("borrowed_core_h", csv_number(scaled(run.away_core_s, 1 / kHour_s)));
  add("lent_core_h", csv_number(scaled(run.lent_core_s, 1 / kHour_s)));
  add("verdict", csv_text(verdict_word(run)));
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
  std::vector<std::string> names;
  add_columns({}, [&](const std::string& name, const std::string& /*value*/) {
    names.push_back(name);
  });
  std::string text = csv_record(names);
  for (const JobRecord& job : table.jobs) {
    std::vector<std::string> values;
    add_columns(job, [&](const std::string& /*name*/, std::string value) {
      values.push_back(std::move(value));
    });
    text += csv_record(values);
  }
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
