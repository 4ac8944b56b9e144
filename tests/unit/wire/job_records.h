// Job records for tests.
#pragma once

#include "wire/job_record.h"

namespace penstock {

// Every field differs from its default.
inline JobRecord full_record(uint32_t job_id = 4711) {
  JobRecord job;
  job.cluster = "alpha";
  job.job_id = job_id;
  job.restart_count = 2;
  job.submit_unix_s = 1780000000.5;
  job.array_job_id = 4700;
  job.array_task_id = 11;
  job.het_job_id = 4701;
  job.het_offset = 3;
  job.uid = 1000;
  job.user = "ada";
  job.account = "physics";
  job.name = "train";
  job.command_hash = text_hash("/home/ada/train.sh 1");
  job.kind = job_kind("train", "/home/ada/train.sh 1");
  job.nodes = 2;
  job.ranks = 8;
  job.gpus = 16;
  job.model = "resnet50";
  job.batch = 256;
  job.start_unix_s = 1780000010.25;
  job.end_unix_s = 1780003610.75;
  job.state = "COMPLETED";
  job.measured_s = 3500;
  job.ceiling_samples_per_s = 812.5;
  job.loader_cpu_s_per_sample = 0.0041;
  job.storage_bytes_per_sample = 110500;
  job.trainer_reserve_cores = 0.5;
  job.mean_rate_samples_per_s = 640.25;
  job.grant_changes = 12;
  job.run = {.wall_s = 3600,
             .parts_s = {.compute = 2000.5,
                         .fetch_stall = 300,
                         .prep_stall = 700,
                         .exchange_stall = 100},
             .waited_s = 1000,
             .active_s = 3500,
             .home_core_s = 7200,
             .away_core_s = 3600,
             .lent_core_s = 60,
             .floor_samples_per_s = 500,
             .observed_s = 1800,
             .would_borrow_core_s = 900,
             .would_lend_core_s = 30,
             .would_save_s = 400,
             .would_save_low_s = 300,
             .would_save_high_s = 500};
  job.last_seen_unix_s = 1780003611;
  return job;
}

inline JobRecord running_record(uint32_t job_id) {
  JobRecord job = full_record(job_id);
  job.end_unix_s.reset();
  job.state = "RUNNING";
  return job;
}

}  // namespace penstock
