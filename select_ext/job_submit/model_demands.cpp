#include "select_ext/job_submit/model_demands.h"

#include <filesystem>
#include <map>

#include "common/admin_file.h"
#include "select_ext/job_submit/table_writer.h"

namespace penstock::job_submit {
namespace {

using Profiles = std::map<std::string, Profile>;  // by name

Status add_builtin(Profiles& profiles) {
  for (const std::string& name : builtin_profile_names()) {
    Result<Profile> profile = builtin_profile(name);
    if (!profile) return std::move(profile).error();
    profiles.insert_or_assign(name, *std::move(profile));
  }
  return Done{};
}

Status add_site(const std::string& directory, const std::string& gpu_type,
                Profiles& profiles) {
  for (const char* suffix : {".json", ".toml"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end;
         !error && it != end; it.increment(error)) {
      const std::filesystem::path& path = it->path();
      if (path.extension() != suffix) continue;
      Result<std::string> text = read_admin_file(path.string());
      if (!text) return std::move(text).error();
      Result<Profile> profile = parse_profile(*text, path.string());
      if (!profile) return std::move(profile).error();
      const std::string name = path.stem().string();
      if (profile->describes_job() && profile->job.gpu.empty()) {
        if (gpu_type.empty()) {
          profiles.erase(name);  // hides a built-in profile of that name too
          continue;
        }
        profile->job.gpu = gpu_type;
      }
      profiles.insert_or_assign(name, *std::move(profile));
    }
    if (error && error != std::errc::no_such_file_or_directory)
      return system_error(error.value(), directory);
  }
  return Done{};
}

Result<ModelDemand> demand_of(const std::string& name, const Profile& profile) {
  Result<Prediction> prediction = predict(profile);
  if (!prediction)
    return std::move(prediction).error().wrap("profile " + profile.name);
  return model_demand(name, *prediction);
}

}  // namespace

Result<std::vector<ModelDemand>> model_demands(const std::string& profile_dir,
                                               const std::string& any,
                                               const std::string& gpu_type) {
  Profiles profiles;
  if (Status status = add_builtin(profiles); !status)
    return std::move(status).error();
  if (Status status = add_site(profile_dir, gpu_type, profiles); !status)
    return std::move(status).error();
  std::vector<ModelDemand> out;
  for (const auto& [name, profile] : profiles) {
    auto demand = demand_of(name, profile);
    if (!demand) return std::move(demand).error();
    out.push_back(*demand);
  }
  if (any.empty()) return out;
  const auto found = profiles.find(any);
  if (found == profiles.end())
    return Error{Code::kNotFound, 0,
                 "SubmitModel=" + any +
                     ": no such profile; allowed: a built-in one, or one in "
                     "ProfileDir that names its gpu, unless GPUType= does"};
  auto demand = demand_of("", found->second);
  if (!demand) return std::move(demand).error();
  out.push_back(*demand);
  return out;
}

}  // namespace penstock::job_submit
