#include "tools/simulate/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/text_scan.h"

namespace penstock::simulate {
namespace {

constexpr double kMaxGpus = 1e6;
constexpr std::string_view kMuriHeader = "job_id,num_gpu,submit_time";

// One line of a trace; fields are accessed by index.
class Line {
 public:
  Line(std::string_view text, size_t number)
      : fields_(split(text, ',')), number_(number) {}

  Error error(const std::string& what) const {
    return invalid(fmt::format("line {}: {}", number_, what));
  }
  size_t size() const { return fields_.size(); }
  std::string text(size_t field) const { return std::string(fields_[field]); }

  Result<double> number(size_t field, const char* name, double least,
                        double most = 1e15) const {
    const std::string_view text = fields_[field];
    double value = 0;
    if (!to_number(text, value) || !(value >= least && value <= most)) {
      return error(fmt::format("{} is '{}', must be a number from {} to {}",
                               name, text, least, most));
    }
    return value;
  }

  Result<double> whole(size_t field, const char* name, double least,
                       double most = 1e15) const {
    Result<double> value = number(field, name, least, most);
    if (value && *value != std::floor(*value)) {
      return error(fmt::format("{} is '{}', must be a whole number", name,
                               fields_[field]));
    }
    return value;
  }

 private:
  std::vector<std::string_view> fields_;
  size_t number_;
};

struct Profile {
  std::vector<allocator::MeasuredPoint> curve;  // rates relative to fair
  double iteration_s = 0;                       // at the fair rate
  FullDemand full;
};
using Profiles = std::map<std::string, Profile>;

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

Status check_profile(const std::string& name, const Profile& profile) {
  const FullDemand& full = profile.full;
  if (!is_positive(profile.iteration_s) || !is_positive(full.cores) ||
      !is_positive(full.memory_gb) || !is_positive(full.speedup)) {
    return invalid(fmt::format(
        "profiles: {}: iter_time_s_at_fair, ideal_cpu_per_gpu, "
        "ideal_mem_gb_per_gpu and speedup_ideal_over_fair must be over 0",
        name));
  }
  double cores = 0;
  for (const auto& point : profile.curve) {
    if (!(point.cores > cores)) {
      return invalid("profiles: cpu_per_gpu_axis must ascend from over 0");
    }
    cores = point.cores;
  }
  return Done{};
}

Result<Profiles> parse_profiles(const TraceOptions& options) {
  if (options.profiles_json.empty()) {
    return invalid("Synergy's traces need its profiles: --profiles FILE");
  }
  Profiles profiles;
  try {
    const auto json = nlohmann::json::parse(options.profiles_json);
    const std::vector<double> cores = json.at("cpu_per_gpu_axis");
    const std::vector<double> memory = json.at("mem_gb_per_gpu_axis");
    const auto column =
        std::find(memory.begin(), memory.end(), options.memory_gb_per_gpu);
    if (column == memory.end()) {
      return invalid(fmt::format("profiles: no column for {} GB per GPU",
                                 options.memory_gb_per_gpu));
    }
    for (const auto& [name, model] : json.at("models").items()) {
      Profile profile;
      profile.iteration_s = model.at("iter_time_s_at_fair");
      profile.full = {model.at("ideal_cpu_per_gpu"),
                      model.at("ideal_mem_gb_per_gpu"),
                      model.at("speedup_ideal_over_fair")};
      const auto& rows = model.at("tput");
      for (size_t i = 0; i < cores.size(); ++i) {
        profile.curve.push_back(
            {cores[i], rows.at(i).at(column - memory.begin())});
      }
      if (Status status = check_profile(name, profile); !status) {
        return status.error();
      }
      profiles[name] = std::move(profile);
    }
  } catch (const nlohmann::json::exception& failure) {
    return invalid(fmt::format("profiles: {}", failure.what()));
  }
  return profiles;
}

Status finish(TraceJob& job, const Line& line) {
  if (Result<allocator::Curve> hull = allocator::concave_hull(job.curve);
      !hull) {
    return line.error(hull.error().message);
  }
  for (const auto& point : job.curve) {
    job.ceiling = std::max(job.ceiling, point.rate);
  }
  return Done{};
}

Result<TraceJob> parse_synergy(const Line& line, const Profiles& profiles) {
  if (line.size() != 5) {
    return line.error(
        fmt::format("{} fields, must be 5: id,model,arrival_s,iterations,gpus",
                    line.size()));
  }
  const Result<double> id = line.whole(0, "id", 0);
  const Result<double> arrival_s = line.number(2, "arrival_s", 0);
  const Result<double> iterations = line.number(3, "iterations", 1);
  const Result<double> gpus = line.whole(4, "gpus", 1, kMaxGpus);
  for (const Result<double>* field : {&id, &arrival_s, &iterations, &gpus}) {
    if (!*field) return field->error();
  }
  TraceJob job;
  job.model = line.text(1);
  const auto profile = profiles.find(job.model);
  if (profile == profiles.end()) {
    return line.error(
        fmt::format("model '{}' is not in the profiles", job.model));
  }
  job.id = static_cast<uint64_t>(*id) + 1;
  job.arrival_s = *arrival_s;
  job.iterations = *iterations;
  job.gpus = static_cast<int>(*gpus);
  job.full = profile->second.full;
  job.fair_rate = 1 / profile->second.iteration_s;
  for (const auto& point : profile->second.curve) {
    job.curve.push_back({point.cores, point.rate * job.fair_rate});
  }
  if (Status status = finish(job, line); !status) return status.error();
  return job;
}

Result<TraceJob> parse_muri(const Line& line, double core_scale) {
  if (line.size() != 13) {
    return line.error(fmt::format("{} fields, must be 13", line.size()));
  }
  const Result<double> id = line.whole(0, "job_id", 0);
  const Result<double> gpus = line.whole(1, "num_gpu", 1, kMaxGpus);
  const Result<double> submit_ms = line.number(2, "submit_time", 0);
  const Result<double> iterations = line.number(3, "iterations", 1);
  const Result<double> loader_ms = line.number(9, "resource_time_0", 0);
  const Result<double> compute_ms = line.number(10, "resource_time_1", 0);
  const Result<double> network_ms = line.number(11, "resource_time_2", 0);
  for (const Result<double>* field : {&id, &gpus, &submit_ms, &iterations,
                                      &loader_ms, &compute_ms, &network_ms}) {
    if (!*field) return field->error();
  }
  const double step_ms = *compute_ms + *network_ms;
  if (step_ms <= 0) return line.error("resource_time_1 and _2 are both 0");
  TraceJob job;
  job.id = static_cast<uint64_t>(*id) + 1;
  job.model = line.text(4);
  job.arrival_s = *submit_ms / 1e3;
  job.iterations = *iterations;
  job.gpus = static_cast<int>(*gpus);
  const double rate = 1e3 / step_ms;
  // A loader without cost still needs a curve.
  const double cores = std::max(*loader_ms * core_scale / step_ms, 1e-6);
  job.curve = {{cores, rate}};
  if (Status status = finish(job, line); !status) return status.error();
  return job;
}

}  // namespace

double measured_rate(const TraceJob& job, double cores) {
  allocator::MeasuredPoint from;
  for (const allocator::MeasuredPoint& to : job.curve) {
    if (cores < to.cores) {
      return from.rate + (to.rate - from.rate) * (cores - from.cores) /
                             (to.cores - from.cores);
    }
    from = to;
  }
  return from.rate;
}

double ceiling_cores(const TraceJob& job) {
  for (const allocator::MeasuredPoint& point : job.curve) {
    if (point.rate >= job.ceiling) return point.cores;
  }
  return job.curve.back().cores;
}

Result<std::vector<TraceJob>> parse_trace(std::string_view text,
                                          const TraceOptions& options) {
  const bool is_muri = text.starts_with(kMuriHeader);
  Result<Profiles> profiles = Profiles{};
  if (!is_muri) profiles = parse_profiles(options);
  if (!profiles) return std::move(profiles).error();
  std::vector<TraceJob> jobs;
  std::set<uint64_t> ids;
  size_t number = 0;
  for (std::string_view row : split(text, '\n')) {
    ++number;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() || (is_muri && number == 1)) continue;
    const Line line(row, number);
    Result<TraceJob> job = is_muri ? parse_muri(line, options.core_scale)
                                   : parse_synergy(line, *profiles);
    if (!job) return std::move(job).error();
    if (!ids.insert(job->id).second) {
      return line.error(fmt::format("job {} exists already", line.text(0)));
    }
    const auto& out = options.left_out_models;
    if (std::find(out.begin(), out.end(), job->model) != out.end()) continue;
    jobs.push_back(std::move(*job));
    if (jobs.size() == options.max_jobs) break;
  }
  if (jobs.empty()) return invalid("the trace holds no jobs");
  return jobs;
}

}  // namespace penstock::simulate
