// The keys of a profile, for its reader and its writer. Internal to predictor/.
#pragma once

#include <string>

#include "predictor/profile.h"

namespace penstock::profile_keys {

inline constexpr size_t kMaxNameBytes = 64;
inline constexpr double kMaxSeconds = 1e6;  // per sample: eleven days
inline constexpr double kMinSeconds = 1e-9;
inline constexpr double kMaxBytes = 1e15;
inline constexpr double kMaxDatasetBytes = 1e18;
inline constexpr double kMaxCount = 1e9;

struct Number {
  const char* key;
  double Profile::*field;
  double low, high;
};

inline constexpr Number kNumbers[] = {
    {"accelerator_s_per_sample", &Profile::accelerator_s_per_sample,
     kMinSeconds, kMaxSeconds},
    {"loader_cpu_s_per_sample", &Profile::loader_cpu_s_per_sample, 0,
     kMaxSeconds},
    {"trainer_cpu_s_per_sample", &Profile::trainer_cpu_s_per_sample, 0,
     kMaxSeconds},
    {"bytes_per_sample", &Profile::bytes_per_sample, 0, kMaxBytes},
    {"cached_share", &Profile::cached_share, 0, 1},
    {"relative_error", &Profile::relative_error, 0, 0.99},
    {"fetch_bytes_per_s", &Profile::fetch_bytes_per_s, 0, kMaxBytes},
    {"memory_bytes_per_s", &Profile::memory_bytes_per_s, 0, kMaxBytes},
    {"dataset_bytes", &Profile::dataset_bytes, 0, kMaxDatasetBytes},
    {"dataset_samples", &Profile::dataset_samples, 0, 1e15},
    {"cache_bytes", &Profile::cache_bytes, 0, kMaxDatasetBytes},
};

// Exponent of a smooth corner: 0 (unknown), or a result of fit_corner().
struct Exponent {
  const char* key;
  double Profile::*field;
};

inline constexpr Exponent kExponents[] = {
    {"corner_ceiling", &Profile::corner_ceiling},
    {"corner_storage", &Profile::corner_storage},
};

struct Whole {
  const char* key;
  int& (*field)(Profile& profile);
  int low;
};

inline constexpr Whole kWholes[] = {
    {"loader_threads", [](Profile& it) -> int& { return it.loader_threads; },
     0},
    {"ranks", [](Profile& it) -> int& { return it.ranks; }, 1},
    {"nodes", [](Profile& it) -> int& { return it.job.nodes; }, 1},
};
inline constexpr int kMaxWhole = 1000000;

struct JobNumber {
  const char* key;
  double JobFeatures::*field;
  double low, high;
};

inline constexpr JobNumber kJobNumbers[] = {
    {"batch", &JobFeatures::batch_per_gpu, 1, kMaxCount},
    {"network_gbs", &JobFeatures::network_gbs, 1e-3, 1e6},
    {"params_m", &JobFeatures::params_m, 1e-6, kMaxCount},
    {"fwd_gflops_per_sample", &JobFeatures::fwd_gflops_per_sample, 1e-9,
     kMaxCount},
    {"activations_m", &JobFeatures::activations_m, 1e-9, kMaxCount},
};

struct Text {
  const char* key;
  std::string& (*field)(Profile& profile);
};

inline constexpr Text kTexts[] = {
    {"name", [](Profile& it) -> std::string& { return it.name; }},
    {"pool", [](Profile& it) -> std::string& { return it.pool; }},
    {"model", [](Profile& it) -> std::string& { return it.job.model; }},
    {"gpu", [](Profile& it) -> std::string& { return it.job.gpu; }},
    {"cpu_class", [](Profile& it) -> std::string& { return it.cpu_class; }},
};

struct List {
  const char* key;
  std::vector<double> Profile::*field;
  double low, high;
  const char* unit;
};

inline constexpr size_t kMaxPoints = 256;
inline constexpr List kLists[] = {
    {"rate_at_cores", &Profile::rate_at_cores, 1e-6, 1e9, "rates in samples/s"},
    {"cores", &Profile::cores, 1e-3, 4096, "amounts of cores, ascending,"},
};

}  // namespace penstock::profile_keys
