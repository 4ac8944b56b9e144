// One run of one job, as the history keeps it. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "select_ext/ctld/run_totals.h"

namespace penstock {

// A requeued job has a record for each run: restart_count differs. Job ids
// come back when Slurm's counter wraps or its state is wiped: submit_unix_s
// differs then. These three and the cluster tell records apart.
struct JobRecord {
  std::string cluster;
  uint32_t job_id = 0;
  uint32_t restart_count = 0;
  double submit_unix_s = 0;
  // Of an array's task and of a component of a heterogeneous job; job_id is
  // its own in both cases.
  std::optional<uint32_t> array_job_id, array_task_id;
  std::optional<uint32_t> het_job_id, het_offset;
  uint32_t uid = 0;
  std::string user;  // uid's name; "": not known
  std::string account;
  std::string name;
  std::string command_hash;  // text_hash() of the script's path and arguments
  std::string kind;          // job_kind()
  uint32_t nodes = 0;
  uint32_t ranks = 0;
  uint32_t gpus = 0;
  std::string model;   // profile that the job named; "": none
  uint32_t batch = 0;  // samples; 0: not given
  std::optional<double> start_unix_s, end_unix_s;
  std::string state;  // Slurm's word: "RUNNING", "COMPLETED", ...
  // Measured while it ran; nullopt: not known. Per rank.
  double measured_s = 0;  // time of steps behind these figures
  std::optional<double> ceiling_samples_per_s;
  std::optional<double> loader_cpu_s_per_sample;
  std::optional<double> storage_bytes_per_sample;
  std::optional<double> trainer_reserve_cores;
  std::optional<double> mean_rate_samples_per_s;
  uint64_t grant_changes = 0;
  RunTotals run;
  double last_seen_unix_s = 0;  // when the record was last true

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// 16 hexadecimal digits of the text's 64-bit FNV-1a hash: the same in every
// release and on every machine. Not against an attacker.
std::string text_hash(std::string_view text);

// What a user's jobs that will likely behave alike have in common: the name
// and the hash of the command, with every run of digits as '#', so that
// "train_17" and "train_18" of a sweep are of one kind.
std::string job_kind(std::string_view name, std::string_view command);

}  // namespace penstock
