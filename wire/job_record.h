// One run of one job, a record of the history. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/field_rule.h"
#include "wire/run_totals.h"

namespace penstock {

// What Slurm says of a job.
struct SlurmLabels {
  uint32_t job_id = 0;
  uint32_t restart_count = 0;
  // Ids of an array task, and of a component of a heterogeneous job. In both
  // cases job_id is the task's or component's own.
  std::optional<uint32_t> array_job_id, array_task_id;
  std::optional<uint32_t> het_job_id, het_offset;
  uint32_t uid = 0;
  std::string user;  // name of uid; "": unknown
  std::string account;
  std::string name;
  std::string state;  // Slurm's name of it: "RUNNING", "COMPLETED", ...
  uint32_t gpus = 0;  // of all nodes

  friend bool operator==(const SlurmLabels&, const SlurmLabels&) = default;
};

// The key of a record is cluster, job_id, restart_count and submit_unix_s. A
// requeued job has one record per run, with rising restart_count. Slurm reuses
// job ids when its counter wraps or its state is wiped; submit_unix_s then
// differs.
struct JobRecord : SlurmLabels {
  std::string cluster;
  double submit_unix_s = 0;
  std::string command_hash;  // text_hash() of the script's path and arguments
  std::string kind;          // job_kind()
  uint32_t nodes = 0;
  uint32_t ranks = 0;
  std::string model;   // profile named by the job; "": none
  uint32_t batch = 0;  // samples; 0: not given
  std::optional<double> start_unix_s, end_unix_s;
  // Measured during the run; nullopt: unknown. Per rank.
  double measured_s = 0;  // time of the steps behind these figures
  std::optional<double> ceiling_samples_per_s;
  std::optional<double> loader_cpu_s_per_sample;
  std::optional<double> storage_bytes_per_sample;
  std::optional<double> trainer_reserve_cores;
  std::optional<double> mean_rate_samples_per_s;
  uint64_t grant_changes = 0;
  RunTotals run;
  double last_seen_unix_s = 0;  // when the record was last current

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// The fields of a row of the history in JSON, which are also columns of its
// table.
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

// In Slurm's notation: "4711", an array task "4700_11", a component of a
// heterogeneous job "4701+1"; " r2" marks the run after the second requeue.
std::string job_label(const JobRecord& job);

// 16 hexadecimal digits of the text's 64-bit FNV-1a hash: the same in every
// release and on every machine. Not collision-resistant against an attacker.
std::string text_hash(std::string_view text);

inline constexpr size_t kMaxKindNameBytes = 128;
inline constexpr size_t kMaxKindBytes = kMaxKindNameBytes + 1 + 16;

// The key of a user's jobs that likely behave alike: the name and the hash of
// the command, with every run of digits replaced by '#'. So "train_17" and
// "train_18" of a sweep are of one kind.
std::string job_kind(std::string_view name, std::string_view command);
// The beginning of the kinds of all jobs with such a name.
std::string kinds_of_name(std::string_view name);

}  // namespace penstock
