// A job profile: the costs of one sample, or a description of the job. Read
// from a TOML or JSON file (the user's or the admin's) or from the built-in
// table. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "predictor/job_features.h"

namespace penstock {

struct Profile {
  std::string name;                     // defaults to the file's name
  double accelerator_s_per_sample = 0;  // > 0, unless job.model is given
  double loader_cpu_s_per_sample = 0;   // fetch and preparation; 0: unknown
  double trainer_cpu_s_per_sample = 0;  // the trainer's own; 0: unknown
  double bytes_per_sample = 0;          // from storage; 0: unknown
  double cached_share = 0;              // share of bytes from a cache, 0..1
  std::string pool;                     // "": none named
  double relative_error = 0.25;         // half width of the interval, [0, 1)
  // Measured rate of the loader alone with its data in memory, samples/s;
  // empty: linear (cores / loader_cpu_s_per_sample). rate_at_cores[i] is for
  // cores[i] loader cores, or for i+1 if cores is empty. At most 256 points,
  // each > 0. cores ascends and is empty or as long as rate_at_cores.
  std::vector<double> rate_at_cores;
  std::vector<double> cores;
  // Further measurements of `penstock analyze`; 0: unknown.
  double fetch_bytes_per_s = 0;   // of storage, cold data, no other limit
  double memory_bytes_per_s = 0;  // of reads of cached data
  double dataset_bytes = 0;
  double dataset_samples = 0;
  double cache_bytes = 0;     // page cache available to the job
  int loader_threads = 0;     // during the measurement of the curve
  int ranks = 1;              // of the job on one node
  double corner_ceiling = 0;  // exponents of the smooth corners (what_if.h),
  double corner_storage = 0;  // 1 to 64; 0: unknown
  // With job.model, predict() computes the ceiling at arrival. The reader of
  // the profile must fill in the number of GPUs, and GPU type and batch if the
  // file lacks them.
  JobFeatures job;
  std::string cpu_class;  // instead of loader_cpu_s_per_sample: "raw", "jpeg"

  bool describes_job() const { return !job.model.empty(); }
  int64_t ranks_in_all() const { return int64_t{ranks} * job.nodes; }
};

// Parses TOML, or JSON if the first character is '{'. Keys are the field names
// above, and for the job: model, gpu, precision, batch, nodes, network_gbs,
// params_m, fwd_gflops_per_sample and activations_m.
// Errors: kInvalidArgument  unknown or duplicate key, wrong type, value out of
//                           range ("FILE: key: why; what is allowed"); syntax
//                           error ("FILE:LINE: why"); over 64 KiB; a byte
//                           outside printable ASCII
[[nodiscard]] Result<Profile> parse_profile(std::string_view text,
                                            const std::string& file_name);

// Writes the profile as TOML, one line per key that differs from its default.
// parse_profile() reads it back as the same profile, except that a name over 64
// bytes is cut. REQUIRES: a profile that parse_profile() could have returned.
std::string profile_text(const Profile& profile);

// Looks up the built-in table: ten models of Synergy (docs/model.md), each with
// one GPU's share of a V100 server; hence a wide interval for other GPUs. The
// source measured no bytes per sample, so they are unknown.
// Errors: kNotFound  the message lists the names.
[[nodiscard]] Result<Profile> builtin_profile(std::string_view name);
std::vector<std::string> builtin_profile_names();

}  // namespace penstock
