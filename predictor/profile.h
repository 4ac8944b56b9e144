// A job profile: what one sample costs, or what the job is. Comes from a file
// (TOML or JSON, as `--loader-model=FILE` names it) or from the built-in table.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "predictor/job_features.h"

namespace penstock {

struct Profile {
  std::string name;                     // "": the file's name stands in
  double accelerator_s_per_sample = 0;  // > 0; or job.model is given
  double loader_cpu_s_per_sample = 0;   // fetch and preparation; 0: not known
  double trainer_cpu_s_per_sample = 0;  // the trainer's own; 0: not known
  double bytes_per_sample = 0;          // from storage; 0: not known
  double cached_share = 0;              // 0..1 of bytes served by a cache
  std::string pool;                     // "" when it names none
  double relative_error = 0.25;         // half width of the interval, [0, 1)
  // Measured rate of the loader alone, with its data in memory, samples/s;
  // empty: linear (cores / loader_cpu_s_per_sample). rate_at_cores[i] belongs
  // to cores[i] loader cores, or to i+1 where cores is empty. At most 256
  // points, each > 0; cores ascend and are as many.
  std::vector<double> rate_at_cores;
  std::vector<double> cores;
  // What `penstock analyze` measures besides; 0: not known.
  double fetch_bytes_per_s = 0;   // of storage, cold data, nothing in its way
  double memory_bytes_per_s = 0;  // at which cached data were read
  double dataset_bytes = 0;
  double dataset_samples = 0;
  double cache_bytes = 0;     // page cache that the job can have
  int loader_threads = 0;     // that the curve was measured with
  int ranks = 1;              // of the job on one node
  double corner_ceiling = 0;  // exponents of the smooth corners (what_if.h),
  double corner_storage = 0;  // 1 to 64
  // With a model predict() finds the ceiling at arrival. How many GPUs there
  // are, and what the file leaves open of GPU type and batch, is for the reader
  // of the profile to fill in.
  JobFeatures job;
  std::string cpu_class;  // in place of loader_cpu_s_per_sample: "raw", "jpeg"

  bool describes_job() const { return !job.model.empty(); }
  int64_t ranks_in_all() const { return int64_t{ranks} * job.nodes; }
};

// Parses TOML, or JSON where the first character is '{'. Keys are the field
// names above, and of the job model, gpu, precision, batch, nodes, network_gbs,
// params_m, fwd_gflops_per_sample and activations_m. Unknown or doubled keys,
// wrong types and values out of range are refused, and so is a text over 64 KiB
// or one with bytes outside printable ASCII. Errors: kInvalidArgument  "FILE:
// key: why; what is allowed", or "FILE:LINE:"
//                           and what the syntax misses.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text,
                                            const std::string& file_name);

// The profile as TOML, a line for each key that is not at its default; what
// parse_profile() reads back as the same profile. A name of over 64 bytes is
// cut. REQUIRES: a profile that parse_profile() could have returned.
std::string profile_text(const Profile& profile);

// Looks up the built-in table: ten models of Synergy's (docs/model.md), each
// one GPU's share of a V100 server, so with a wide interval on anything else.
// It holds no bytes per sample, as its source measured none.
// Errors: kNotFound  lists the names there are.
[[nodiscard]] Result<Profile> builtin_profile(std::string_view name);
std::vector<std::string> builtin_profile_names();

}  // namespace penstock
