// Runs of the history in one table, the worst stalls first: what
// `penstock report --user` and `--array` print. docs/stalls.md describes it.
// Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/render.h"
#include "select_ext/ctld/job_record.h"
#include "select_ext/ctld/stall_totals.h"

namespace penstock {

struct JobTable {
  std::vector<JobRecord> jobs;  // by falling stalled GPU hours, unknown last
  StallTotals totals;           // of all of them
  std::optional<uint32_t> array_job_id;  // the jobs are that array's tasks
  double since_unix_s = 0;               // 0: all that is remembered
};

JobTable make_job_table(std::vector<JobRecord> jobs);

// stalled_s() by GPUs; nullopt: not known.
std::optional<double> stalled_gpu_h(const JobRecord& job);
// As Slurm writes it: "4711", an array's task "4700_11", a heterogeneous job's
// component "4701+1"; " r2" marks the run after the second requeue.
std::string job_label(const JobRecord& job);

// As render_text(): no line is wider than style.width, names cannot drive the
// terminal, what is not known is "-", of shares "---".
std::string render_job_table(const JobTable& table,
                             const TextStyle& style = {});
// One record for each run, without totals; what is not known is empty.
std::string job_table_csv(const JobTable& table);
nlohmann::json job_table_json(const JobTable& table);

}  // namespace penstock
