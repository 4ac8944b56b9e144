// The built-in profiles, with numbers from Synergy's simulator
// (msr-fiddle/synergy at 1bb2bed, simulator/models/*_1.py, MIT licence),
// measured on V100 servers with 3 cores and 62.5 GB per GPU. docs/model.md
// describes their use.
#include <cstddef>

#include "predictor/profile.h"

namespace penstock {
namespace {

constexpr int kCoreColumns = 8;
constexpr int kCores[kCoreColumns] = {1, 2, 3, 4, 5, 6, 9, 12};

struct Model {
  const char* name;
  double batch;             // samples per iteration
  double iteration_s;       // with 3 cores and 62.5 GB per GPU
  double full_speed_cores;  // per GPU; saturation point given by the source
  // Speed at kCores relative to 3 cores and 62.5 GB, with the memory demand
  // that the source gives for the model.
  double speed[kCoreColumns];
};

constexpr Model kModels[] = {
    {"alexnet", 512, 0.6, 12, {0.3, 0.66, 1, 1.25, 1.53, 1.75, 2, 2.94}},
    {"deepspeech", 20, 0.757, 3, {0.3, 0.66, 1, 1, 1, 1, 1, 1}},
    {"gnmt", 128, 0.12, 1, {1, 1, 1, 1, 1, 1, 1, 1}},
    {"lstm", 20, 0.011, 1, {1, 1, 1, 1, 1, 1, 1, 1}},
    {"m5", 512, 0.6, 6, {0.3, 0.66, 1, 1.2, 1.4, 2.5, 2.5, 2.5}},
    {"mobilenet", 512, 0.71, 6, {0.37, 0.72, 1, 1.3, 1.49, 1.55, 1.55, 1.55}},
    {"res18", 512, 0.64, 9, {0.37, 0.72, 1, 1.3, 1.53, 1.75, 2.4, 2.4}},
    {"res50", 512, 0.78, 4, {0.4, 0.74, 1, 1.15, 1.15, 1.15, 1.15, 1.15}},
    {"shufflenet", 512, 0.615, 12, {0.3, 0.66, 1, 1.25, 1.53, 1.75, 2, 2.89}},
    {"transformer", 128, 0.67, 1, {1, 1, 1, 1, 1, 1, 1, 1}},
};

// 90th percentile of the relative error if a V100's measured rate is used for
// another GPU type (docs/model.md).
constexpr double kOtherGpuError = 0.73;

// Interpolates core counts that the source skips.
double speed_at(const Model& model, int cores) {
  int i = 0;
  while (kCores[i] < cores) ++i;
  if (kCores[i] == cores) return model.speed[i];
  const double share =
      static_cast<double>(cores - kCores[i - 1]) / (kCores[i] - kCores[i - 1]);
  return model.speed[i - 1] + share * (model.speed[i] - model.speed[i - 1]);
}

Profile to_profile(const Model& model) {
  const double base_rate = model.batch / model.iteration_s;
  const double full_rate = base_rate * model.speed[kCoreColumns - 1];
  Profile profile;
  profile.name = model.name;
  profile.accelerator_s_per_sample = 1 / full_rate;
  profile.loader_cpu_s_per_sample = model.full_speed_cores / full_rate;
  profile.relative_error = kOtherGpuError;
  for (int cores = 1; cores <= model.full_speed_cores; ++cores)
    profile.rate_at_cores.push_back(base_rate * speed_at(model, cores));
  return profile;
}

}  // namespace

Result<Profile> builtin_profile(std::string_view name) {
  std::string names;
  for (const Model& model : kModels) {
    if (name == model.name) return to_profile(model);
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  }
  return Error{Code::kNotFound, 0,
               "no built-in profile of that name; there are: " + names};
}

std::vector<std::string> builtin_profile_names() {
  std::vector<std::string> names;
  for (const Model& model : kModels) names.emplace_back(model.name);
  return names;
}

}  // namespace penstock
