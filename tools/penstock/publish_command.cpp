// `penstock publish`: the demand table from profiles, for a site without
// penstockctld, which publishes what it has measured too.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <ostream>

#include "select_ext/job_submit/table_writer.h"
#include "tools/penstock/command.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxProfileBytes = size_t{64} * 1024;
using Profiles = std::map<std::string, Profile>;  // by name

Status add_builtin(Profiles& profiles) {
  for (const std::string& name : builtin_profile_names()) {
    Result<Profile> profile = builtin_profile(name);
    if (!profile) return std::move(profile).error();
    profiles.insert_or_assign(name, *std::move(profile));
  }
  return Done{};
}

// NAME.toml and NAME.json of the directory, which may be missing. The first
// counts where both are there, as where penstockd looks a name up.
Status add_site(const std::string& directory, Profiles& profiles) {
  for (const char* suffix : {".json", ".toml"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end;
         !error && it != end; it.increment(error)) {
      const std::filesystem::path& path = it->path();
      if (path.extension() != suffix) continue;
      Result<std::string> text = read_file(path.string(), kMaxProfileBytes);
      if (!text) return std::move(text).error();
      Result<Profile> profile = parse_profile(*text, path.string());
      if (!profile) return std::move(profile).error();
      profiles.insert_or_assign(path.stem().string(), *std::move(profile));
    }
    if (error && error != std::errc::no_such_file_or_directory)
      return system_error(error.value(), directory);
  }
  return Done{};
}

Result<job_submit::ModelDemand> demand_of(const std::string& name,
                                          const Profile& profile) {
  const Result<Prediction> prediction = predict(profile);
  if (!prediction) return prediction.error();
  return job_submit::model_demand(name, *prediction);
}

Result<std::vector<job_submit::ModelDemand>> demands_of(
    const Profiles& profiles, const std::string& any) {
  std::vector<job_submit::ModelDemand> out;
  for (const auto& [name, profile] : profiles) {
    auto demand = demand_of(name, profile);
    if (!demand) return std::move(demand).error();
    out.push_back(*demand);
  }
  if (any.empty()) return out;
  const auto found = profiles.find(any);
  if (found == profiles.end())
    return Error{Code::kNotFound, 0,
                 "--any " + any +
                     ": no such profile; allowed: a built-in one, "
                     "or one in ProfileDir"};
  auto demand = demand_of("", found->second);
  if (!demand) return std::move(demand).error();
  out.push_back(*demand);
  return out;
}

}  // namespace

Status run_publish(const std::string& any, const Config& config,
                   Terminal& terminal) {
  Profiles profiles;
  if (Status status = add_builtin(profiles); !status) return status;
  if (Status status = add_site(config.profile_dir, profiles); !status)
    return status;
  auto demands = demands_of(profiles, any);
  if (!demands) return std::move(demands).error();
  auto writer = job_submit::TableWriter::open(config.submit_table);
  if (!writer) return std::move(writer).error();
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const size_t count = demands->size();
  Status status = writer->publish(*std::move(demands), {},
                                  static_cast<uint64_t>(now.count()));
  if (!status) return status;
  terminal.out << fmt::format("{}: {} entries\n", config.submit_table, count);
  return Done{};
}

}  // namespace penstock
