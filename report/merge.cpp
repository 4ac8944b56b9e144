#include "report/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "common/clock.h"
#include "report/advice.h"
#include "report/resample.h"

namespace penstock {
namespace {

using Parts = std::vector<JobReport>;

constexpr size_t kCourseSteps = 1024;

// The sum of a figure over the parts that know it; nullopt: none does.
template <class Figure>
std::optional<double> sum_of(const Parts& parts, const Figure& figure) {
  std::optional<double> sum;
  for (const JobReport& part : parts) {
    const std::optional<double>& value = figure(part);
    if (value) sum = sum.value_or(0) + *value;
  }
  return sum;
}

// The same of an estimate. Unknown as soon as one part does not know it: the
// sum of the others would be too low.
template <class Figure>
std::optional<Estimate> estimate_of(const Parts& parts, const Figure& figure) {
  Estimate sum;
  for (const JobReport& part : parts) {
    const std::optional<Estimate>& value = figure(part);
    if (!value) return std::nullopt;
    sum.value += value->value;
    sum.low += value->low;
    sum.high += value->high;
  }
  return sum;
}

double ranks_of(const JobReport& part) {
  return std::max<double>(1, part.ranks);
}

double ranks_of_all(const Parts& parts) {
  double ranks = 0;
  for (const JobReport& part : parts) ranks += ranks_of(part);
  return ranks;
}

// Average over the ranks of the parts that know the figure.
template <class Figure>
std::optional<double> mean_of(const Parts& parts, const Figure& figure) {
  double sum = 0, ranks = 0;
  for (const JobReport& part : parts) {
    const std::optional<double> value = figure(part);
    if (!value) continue;
    sum += *value * ranks_of(part);
    ranks += ranks_of(part);
  }
  if (!(ranks > 0)) return std::nullopt;
  return sum / ranks;
}

double waited_share(const JobReport& part) {
  const Breakdown& breakdown = part.breakdown;
  if (!(breakdown.wall_s > 0)) return 0;
  return (breakdown.waited_s.value_or(0) + breakdown.contention_s.value_or(0)) /
         breakdown.wall_s;
}

const JobReport& slowest_of(const Parts& parts) {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const JobReport& a, const JobReport& b) {
                             return waited_share(a) < waited_share(b);
                           });
}

Breakdown breakdown_of(const Parts& parts) {
  Breakdown out = parts.front().breakdown;  // the methods
  const auto mean = [&](const auto& figure) {
    return mean_of(parts, [&](const JobReport& part) {
      return std::optional<double>(figure(part.breakdown));
    });
  };
  out.wall_s = mean([](const Breakdown& it) { return it.wall_s; }).value_or(0);
  for (const WallPartNames& names : kWallParts) {
    // What a part does not know is in its unattributed time.
    std::optional<double>& seconds = out.parts[names.part].seconds;
    seconds = sum_of(parts, [&](const JobReport& part) {
      std::optional<double> known = part.breakdown.parts[names.part].seconds;
      if (known) *known *= ranks_of(part) / ranks_of_all(parts);
      return known;
    });
  }
  out.waited_s = mean([](const Breakdown& it) { return it.waited_s; });
  out.contention_s = mean([](const Breakdown& it) { return it.contention_s; });
  return make_breakdown(std::move(out));
}

Compared compared_of(const Parts& parts, Compared JobReport::*figure) {
  Compared out = parts.front().*figure;  // the sources
  for (auto kind :
       {&Compared::predicted, &Compared::corrected, &Compared::measured}) {
    out.*kind = estimate_of(
        parts, [&](const JobReport& part) -> const std::optional<Estimate>& {
          return part.*figure.*kind;
        });
  }
  return out;
}

std::vector<CoresNotLent> not_lent_of(const Parts& parts) {
  std::map<NotLent, double> sums;
  for (const JobReport& part : parts) {
    for (const CoresNotLent& it : part.cores.not_lent) sums[it.why] += it.cores;
  }
  std::vector<CoresNotLent> out;
  for (const auto& [why, cores] : sums) out.push_back({why, cores});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.cores > b.cores; });
  return out;
}

std::vector<LentBy> lent_by_of(const Parts& parts) {
  std::map<uint64_t, double> sums;
  for (const JobReport& part : parts) {
    for (const LentBy& it : part.cores.lent_by) sums[it.job_id] += it.cores;
  }
  return largest_lenders(sums);
}

CoreFigures cores_of(const Parts& parts) {
  CoreFigures out = slowest_of(parts).cores;  // what loads, and a task's limit
  for (auto figure :
       {&CoreFigures::node, &CoreFigures::job, &CoreFigures::allocated,
        &CoreFigures::reserve, &CoreFigures::entitled,
        &CoreFigures::granted_home, &CoreFigures::granted_away,
        &CoreFigures::used_home, &CoreFigures::used_away,
        &CoreFigures::used_trainer, &CoreFigures::loader_threads}) {
    out.*figure = sum_of(
        parts, [&](const JobReport& part) -> const std::optional<double>& {
          return part.cores.*figure;
        });
  }
  for (auto figure : {&CoreFigures::demand, &CoreFigures::trainer_demand}) {
    out.*figure = estimate_of(
        parts, [&](const JobReport& part) -> const std::optional<Estimate>& {
          return part.cores.*figure;
        });
  }
  out.not_lent = not_lent_of(parts);
  out.lent_by = lent_by_of(parts);
  return out;
}

// The one that waits most of all nodes' slowest ones, beside the mean of all
// ranks.
std::optional<SlowestRank> slowest_rank_of(const Parts& parts) {
  std::optional<SlowestRank> out;
  double waited = 0, ranks = 0;
  for (const JobReport& part : parts) {
    const std::optional<SlowestRank>& it = part.slowest_rank;
    if (!it) continue;
    waited += it->mean * ranks_of(part);
    ranks += ranks_of(part);
    if (!out || out->waited < it->waited) out = it;
  }
  if (out) out->mean = waited / ranks;
  return out;
}

// The mean over all GPUs, and the node with the most memory in use of one.
GpuFigures gpus_of(const Parts& parts) {
  GpuFigures out;
  double used = 0;
  for (const JobReport& part : parts) {
    const GpuFigures& it = part.gpus;
    out.count += it.count;
    out.known += it.known;
    if (it.use) used += *it.use * it.known;
    out.longest_idle_s = std::max(out.longest_idle_s, it.longest_idle_s);
    if (out.memory_used_bytes < it.memory_used_bytes) {
      out.memory_used_bytes = it.memory_used_bytes;
      out.memory_bytes = it.memory_bytes;
    }
  }
  if (out.known > 0) out.use = used / out.known;
  return out;
}

BandwidthFigures bandwidth_of(const Parts& parts) {
  BandwidthFigures out = parts.front().bandwidth;  // the pool
  const bool is_common = std::all_of(
      parts.begin(), parts.end(),
      [&](const JobReport& part) { return part.bandwidth.pool == out.pool; });
  if (!is_common) out = {};
  // What was requested is of each node.
  out.requested_bytes_per_s = parts.front().bandwidth.requested_bytes_per_s;
  for (auto figure : {&BandwidthFigures::entitled_bytes_per_s,
                      &BandwidthFigures::granted_bytes_per_s,
                      &BandwidthFigures::used_bytes_per_s}) {
    out.*figure = sum_of(
        parts, [&](const JobReport& part) -> const std::optional<double>& {
          return part.bandwidth.*figure;
        });
  }
  out.demand_bytes_per_s = estimate_of(
      parts, [](const JobReport& part) -> const std::optional<Estimate>& {
        return part.bandwidth.demand_bytes_per_s;
      });
  return out;
}

CacheFigures cache_of(const Parts& parts) {
  CacheFigures out;
  for (auto figure : {&CacheFigures::hits, &CacheFigures::hit_bytes,
                      &CacheFigures::held_bytes, &CacheFigures::peer_hits,
                      &CacheFigures::peer_bytes}) {
    out.*figure = sum_of(
        parts, [&](const JobReport& part) -> const std::optional<double>& {
          return part.cache.*figure;
        });
  }
  for (auto figure : {&CacheFigures::hit_share, &CacheFigures::held_share}) {
    out.*figure = mean_of(
        parts, [&](const JobReport& part) { return part.cache.*figure; });
  }
  return out;
}

// Sums of rates, cores and bytes, and means of shares, over a common grid.
std::vector<TimelinePoint> timeline_of(const Parts& parts) {
  double begin = std::numeric_limits<double>::infinity(), end = 0;
  size_t most = 0;
  for (const JobReport& part : parts) {
    if (part.timeline.empty()) continue;
    begin = std::min(begin, part.timeline.front().begin_unix_s);
    end = std::max(end, part.timeline.back().begin_unix_s +
                            part.timeline.back().duration_s);
    most = std::max(most, part.timeline.size());
  }
  const size_t steps = std::min(most, kCourseSteps);
  if (steps == 0 || !(end > begin)) return {};
  std::vector<TimelinePoint> out(steps);
  const double step_s = (end - begin) / double(steps);
  for (size_t i = 0; i < steps; ++i) {
    out[i].begin_unix_s = begin + double(i) * step_s;
    out[i].duration_s = step_s;
  }
  const double ranks = ranks_of_all(parts);
  for (const TimelineColumn& column : kTimelineColumns) {
    for (const JobReport& part : parts) {
      const double weight = column.is_share() ? ranks_of(part) / ranks : 1;
      const auto values = resampled(
          part.timeline, {begin, end}, steps,
          [&](const TimelinePoint& point) { return column.of(point); });
      for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        std::optional<double>& sum = column.of(out[i]);
        sum = sum.value_or(0) + weight * *values[i];
      }
    }
  }
  return out;
}

// The slowest node's curve for all nodes, each with as many cores for a rank.
std::optional<WhatIfCurve> curve_of(const Parts& parts) {
  const JobReport& slowest = slowest_of(parts);
  if (!slowest.what_if) return std::nullopt;
  WhatIfCurve out = *slowest.what_if;
  const double scale = ranks_of_all(parts) / ranks_of(slowest);
  for (RateAtCores& point : out.points) {
    point.cores *= scale;
    for (double* end : {&point.rate.value, &point.rate.low, &point.rate.high}) {
      *end *= scale;
    }
  }
  out.ceiling *= scale;
  for (auto figure :
       {&WhatIfCurve::here_cores, &WhatIfCurve::here_rate,
        &WhatIfCurve::measured_cores, &WhatIfCurve::enough_cores}) {
    if (out.*figure) *(out.*figure) *= scale;
  }
  if (out.unknown.empty() && out.notes.size() < kMaxWhatIfNotes) {
    out.notes.push_back(
        fmt::format("The curve is that of {}, the slowest of {} nodes, for all "
                    "of them.",
                    slowest.node, parts.size()));
  }
  return out;
}

DataQuality quality_of(const Parts& parts) {
  DataQuality out = slowest_of(parts).quality;
  out.periods = out.gaps = out.samples = out.agent_restarts = 0;
  for (const JobReport& part : parts) {
    const DataQuality& it = part.quality;
    out.periods = std::max(out.periods, it.periods);
    out.gaps += it.gaps;
    out.samples += it.samples;
    out.agent_restarts += it.agent_restarts;
    out.pages_contradicted = out.pages_contradicted || it.pages_contradicted;
  }
  return out;
}

std::vector<NodePart> nodes_of(const Parts& parts) {
  const JobReport& slowest = slowest_of(parts);
  std::vector<NodePart> out;
  for (const JobReport& part : parts) {
    if (out.size() == kMaxReportNodes) break;
    NodePart node;
    node.node = part.node;
    node.tasks = part.tasks;
    node.ranks = part.ranks;
    if (part.throughput.measured) node.rate = part.throughput.measured->value;
    node.breakdown = part.breakdown;
    node.used_home = part.cores.used_home;
    node.used_away = part.cores.used_away;
    node.running = part.running;
    node.slowest = &part == &slowest && waited_share(part) >= kInputBoundShare;
    out.push_back(std::move(node));
  }
  return out;
}

// The CPUs that a task may have on every node.
double cpus_for_each_task(const Parts& parts) {
  double least = std::numeric_limits<double>::infinity();
  for (const JobReport& part : parts) {
    if (!part.cores.node || part.tasks == 0) continue;
    least = std::min(least, std::floor(*part.cores.node / part.tasks));
  }
  return least;
}

SlowestNode advice_of(const Parts& parts) {
  JobReport slowest = slowest_of(parts);
  const double cpus = cpus_for_each_task(parts);
  if (std::isfinite(cpus)) slowest.cores.node = cpus * slowest.tasks;
  SlowestNode out;
  out.verdict = verdict(slowest);
  if (waited_share(slowest) >= kInputBoundShare) {
    out.verdict += fmt::format(" on {}, the slowest of {} nodes", slowest.node,
                               parts.size());
  }
  out.recommendations = recommend(slowest);
  return out;
}

// Each fault once, as the slowest node has it or else the first one.
std::vector<LaunchProblem> launch_problems_of(const Parts& parts) {
  std::map<LaunchFault, LaunchProblem> out;
  const auto add = [&](const JobReport& part) {
    for (LaunchProblem problem : part.launch_problems) {
      problem.reason += ", on " + part.node;
      out.try_emplace(problem.fault, std::move(problem));
    }
  };
  add(slowest_of(parts));
  for (const JobReport& part : parts) add(part);
  std::vector<LaunchProblem> list;
  for (auto& [fault, problem] : out) list.push_back(std::move(problem));
  return list;
}

std::string names_of(const Parts& parts) {
  std::vector<std::string> names;
  for (const JobReport& part : parts) names.push_back(part.node);
  std::string text = fmt::format("{}", fmt::join(names, ","));
  if (text.size() > kMaxReportTextBytes) {
    text = fmt::format("{} to {} ({} nodes)", names.front(), names.back(),
                       names.size());
  }
  return text;
}

std::vector<std::string> notes_of(const Parts& parts) {
  std::vector<std::string> out;
  double first = parts.front().start_unix_s, last = first;
  for (const JobReport& part : parts) {
    first = std::min(first, part.start_unix_s);
    last = std::max(last, part.start_unix_s);
    for (const std::string& note : part.notes) {
      const bool is_known =
          std::find(out.begin(), out.end(), note) != out.end();
      if (!is_known && out.size() + 1 < kMaxReportNotes) out.push_back(note);
    }
  }
  if (last - first > kClockSkew_s) {
    out.push_back(fmt::format(
        "the nodes' starts are {:.0f} s apart: steps began at different times, "
        "or their clocks differ",
        last - first));
  }
  return out;
}

}  // namespace

JobReport merge_reports(std::vector<JobReport> parts) {
  std::sort(
      parts.begin(), parts.end(),
      [](const JobReport& a, const JobReport& b) { return a.node < b.node; });
  if (parts.size() == 1) return std::move(parts.front());
  JobReport out = slowest_of(parts);  // what is common, and the grant changes
  double run_s = 0;
  for (const JobReport& part : parts) {
    out.start_unix_s = std::min(out.start_unix_s, part.start_unix_s);
    out.running = out.running || part.running;
    run_s = std::max(run_s, part.run_s());
  }
  out.updated_unix_s = out.start_unix_s + run_s;
  out.end_unix_s.reset();
  if (!out.running) out.end_unix_s = out.updated_unix_s;
  out.node = names_of(parts);
  out.tasks = out.ranks = 0;
  for (const JobReport& part : parts) {
    out.tasks += part.tasks;
    out.ranks += part.ranks;
  }
  out.ceiling = compared_of(parts, &JobReport::ceiling);
  out.throughput = compared_of(parts, &JobReport::throughput);
  out.floor_rate =
      sum_of(parts, [](const JobReport& part) -> const std::optional<double>& {
        return part.floor_rate;
      });
  out.breakdown = breakdown_of(parts);
  out.pressure.cpu_s =
      mean_of(parts, [](const JobReport& part) { return part.pressure.cpu_s; });
  out.pressure.io_s =
      mean_of(parts, [](const JobReport& part) { return part.pressure.io_s; });
  out.cores = cores_of(parts);
  out.gpus = gpus_of(parts);
  out.slowest_rank = slowest_rank_of(parts);
  out.bandwidth = bandwidth_of(parts);
  out.cache = cache_of(parts);
  out.timeline = timeline_of(parts);
  out.what_if = curve_of(parts);
  out.would_have = of_all_nodes(parts);
  out.launch_problems = launch_problems_of(parts);
  out.quality = quality_of(parts);
  out.notes = notes_of(parts);
  out.nodes = nodes_of(parts);
  out.slowest = advice_of(parts);
  return out;
}

}  // namespace penstock
