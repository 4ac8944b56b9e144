#include "tools/policy/waste.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/text.h"

namespace penstock::policy {
namespace {

constexpr double kHour_s = 3600;

// Times and cores of a run; 0: unknown, or none.
double hours(const std::optional<double>& seconds) {
  return seconds.value_or(0) / kHour_s;
}

double cores(const JobRecord& job) {
  const double wall_s = job.run.wall_s.value_or(0);
  return wall_s > 0 ? job.run.allocated_core_s.value_or(0) / wall_s : 0;
}

bool has_idle_gpus(const RunTotals& run, const Rules& rules) {
  return hours(run.gpu_s) > 0 && run.gpu_busy_s &&
         hours(run.gpu_idle_s) >= rules.idle_gpu_h;
}

bool is_input_bound(const JobRecord& job, const Rules& rules) {
  const RunTotals& run = job.run;
  return job.gpus > 0 && hours(run.wall_s) > 0 &&
         hours(run.wall_s) >= rules.input_bound_h &&
         hours(run.waited_s) > rules.input_bound * hours(run.wall_s);
}

bool has_unused_cores(const JobRecord& job, const Rules& rules) {
  const RunTotals& run = job.run;
  return run.used_core_s && hours(run.wall_s) >= rules.unused_cores_h &&
         cores(job) >= rules.least_cores &&
         hours(run.used_core_s) < rules.core_use * hours(run.allocated_core_s);
}

double of_gpus(const Finding& finding) {
  return finding.waste == Waste::kUnusedCores ? 0 : finding.wasted_h;
}

bool is_worse(const Finding& a, const Finding& b) {
  return std::pair(of_gpus(a), a.wasted_h) > std::pair(of_gpus(b), b.wasted_h);
}

}  // namespace

const char* waste_name(Waste waste) {
  static constexpr const char* kNames[] = {"idle_gpus", "input_bound",
                                           "unused_cores"};
  return kNames[size_t(waste)];
}

std::vector<Finding> findings_of(const JobRecord& job, const Rules& rules) {
  const RunTotals& run = job.run;
  std::vector<Finding> out;
  if (has_idle_gpus(run, rules)) {
    out.push_back({Waste::kIdleGpus, job,
                   std::max(0.0, hours(run.gpu_s) - hours(run.gpu_busy_s)),
                   hours(run.gpu_s)});
  }
  if (is_input_bound(job, rules)) {
    out.push_back({Waste::kInputBound, job, hours(run.waited_s) * job.gpus,
                   hours(run.wall_s) * job.gpus});
  }
  if (has_unused_cores(job, rules)) {
    out.push_back({Waste::kUnusedCores, job,
                   hours(run.allocated_core_s) - hours(run.used_core_s),
                   hours(run.allocated_core_s)});
  }
  return out;
}

std::string finding_text(const Finding& finding) {
  const JobRecord& job = finding.job;
  const RunTotals& run = job.run;
  const std::string wasted = figure_text(finding.wasted_h);
  const std::string held = figure_text(finding.held_h);
  switch (finding.waste) {
    case Waste::kIdleGpus:
      return fmt::format(
          "no kernel ran on {} for {} at a time: {} of its {} GPU hours had "
          "none",
          job.gpus > 1 ? fmt::format("one of its {} GPUs", job.gpus)
                       : "its GPU",
          duration_text(*run.gpu_idle_s), wasted, held);
    case Waste::kInputBound:
      return fmt::format(
          "it waited for data in {} of {}: {} of its {} GPU hours",
          share_text(*run.waited_s / *run.wall_s), duration_text(*run.wall_s),
          wasted, held);
    case Waste::kUnusedCores:
      return fmt::format(
          "it used {} of its {} cores on average: {} of its {} core hours were "
          "unused",
          figure_text(*run.used_core_s / *run.wall_s), figure_text(cores(job)),
          wasted, held);
  }
  return "";
}

std::vector<UserFindings> by_user(std::vector<Finding> findings) {
  std::map<uint32_t, UserFindings> users;
  for (Finding& it : findings) {
    UserFindings& user = users[it.job.uid];
    user.uid = it.job.uid;
    if (user.user.empty()) user.user = it.job.user;
    user.findings.push_back(std::move(it));
  }
  std::vector<UserFindings> out;
  for (auto& [uid, user] : users) {
    std::stable_sort(user.findings.begin(), user.findings.end(), is_worse);
    out.push_back(std::move(user));
  }
  const auto key = [](const UserFindings& user) {
    double gpu_h = 0, all_h = 0;
    for (const Finding& it : user.findings) {
      gpu_h += of_gpus(it);
      all_h += it.wasted_h;
    }
    return std::pair(gpu_h, all_h);
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return key(a) > key(b);
  });
  return out;
}

}  // namespace penstock::policy
