// Runs of the history in one table, the largest stalls first, for `penstock
// report --user` and `--array`. docs/stalls.md describes it. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/render.h"
#include "select_ext/ctld/stall_totals.h"
#include "wire/job_record.h"

namespace penstock {

struct JobTable {
  std::vector<JobRecord> jobs;  // by falling stalled GPU hours, unknown last
  StallTotals totals;           // of all jobs
  std::optional<uint32_t> array_job_id;  // set: the jobs are this array's tasks
  double since_unix_s = 0;               // 0: the whole history
};

JobTable make_job_table(std::vector<JobRecord> jobs);

// stalled_s() times GPUs, in hours; nullopt: unknown.
std::optional<double> stalled_gpu_h(const JobRecord& job);

// As with render_text() no line is wider than style.width, and names cannot
// control the terminal. Unknown figures are "-", unknown shares "---".
std::string render_job_table(const JobTable& table,
                             const TextStyle& style = {});
// One record per run, without totals; unknown values are empty.
std::string job_table_csv(const JobTable& table);
nlohmann::json job_table_json(const JobTable& table);

}  // namespace penstock
