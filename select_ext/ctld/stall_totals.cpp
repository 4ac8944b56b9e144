#include "select_ext/ctld/stall_totals.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr double kHour_s = 3600;

template <class Visit, class... Groups>
void visit_group(const std::string& prefix, Visit&& visit, Groups&... groups) {
  const auto name = [&](const char* figure) { return prefix + figure; };
  visit(name("runs").c_str(), groups.runs...);
  visit(name("gpu_h").c_str(), groups.gpu_h...);
  visit(name("stalled_gpu_h").c_str(), groups.stalled_gpu_h...);
  visit(name("shares").c_str(), groups.shares...);
  visit(name("squares").c_str(), groups.squares...);
}

// Calls visit(name, figure of each of the totals) for all figures.
template <class Visit, class... Totals>
void visit_figures(Visit&& visit, Totals&... totals) {
  visit("runs", totals.runs...);
  visit("running", totals.running...);
  visit("cores_known", totals.cores_known...);
  visit("ran_gpu_h", totals.ran_gpu_h...);
  visit("stand_in_gpu_h", totals.stand_in_gpu_h...);
  visit("told_gpu_h", totals.told_gpu_h...);
  visit("estimated_gpu_h", totals.estimated_gpu_h...);
  for (const WallPartNames& it : kWallParts) {
    const std::string key = it.key;
    visit((key + "_gpu_h").c_str(), totals.parts_gpu_h[it.part]...);
    visit((key + "_known_gpu_h").c_str(), totals.known_gpu_h[it.part]...);
  }
  visit("stalled_gpu_h", totals.stalled_gpu_h...);
  visit("stalled_known_gpu_h", totals.stalled_known_gpu_h...);
  visit("home_core_h", totals.home_core_h...);
  visit("away_core_h", totals.away_core_h...);
  visit("lent_core_h", totals.lent_core_h...);
  visit("guest_core_h", totals.guest_core_h...);
  visit("judged_gpu_h", totals.judged_gpu_h...);
  visit("gained_gpu_h", totals.gained_gpu_h...);
  visit("below_floor_gpu_h", totals.below_floor_gpu_h...);
  visit("observed_gpu_h", totals.observed_gpu_h...);
  visit("would_judged_gpu_h", totals.would_judged_gpu_h...);
  visit("would_save_gpu_h", totals.would_save_gpu_h...);
  visit("would_save_low_gpu_h", totals.would_save_low_gpu_h...);
  visit("would_save_high_gpu_h", totals.would_save_high_gpu_h...);
  visit("would_borrow_core_h", totals.would_borrow_core_h...);
  visit("would_lend_core_h", totals.would_lend_core_h...);
  visit_group("observed_group_", visit, totals.observed...);
  visit_group("acted_group_", visit, totals.acted...);
}

// Nothing is refused.
constexpr FieldDialect kDialect = {.low = 0};

void add_cores(const RunTotals& run, StallTotals& totals) {
  if (!run.home_core_s || !run.away_core_s || !run.lent_core_s) return;
  ++totals.cores_known;
  totals.home_core_h += *run.home_core_s / kHour_s;
  totals.away_core_h += *run.away_core_s / kHour_s;
  totals.lent_core_h += *run.lent_core_s / kHour_s;
  totals.guest_core_h += run.guest_core_s.value_or(0) / kHour_s;
}

void add_gain(const JobRecord& job, double gpus, StallTotals& totals) {
  const RunTotals& run = job.run;
  const double floor = run.floor_samples_per_s.value_or(0);
  if (!job.mean_rate_samples_per_s || !run.active_s || !(floor > 0)) return;
  if (run.observed_s.value_or(0) > 0) return;  // nothing was lent
  const double active_s = std::min(*run.active_s, run.wall_s.value_or(0));
  const double hours = active_s * gpus / kHour_s;
  const double gained = hours * (*job.mean_rate_samples_per_s / floor - 1);
  totals.judged_gpu_h += hours;
  (gained >= 0 ? totals.gained_gpu_h : totals.below_floor_gpu_h) +=
      std::abs(gained);
}

void add_observed(const RunTotals& run, double gpus, StallTotals& totals) {
  if (!(run.observed_s.value_or(0) > 0)) return;
  const double hours = gpus / kHour_s;
  totals.observed_gpu_h += *run.observed_s * hours;
  totals.would_borrow_core_h += run.would_borrow_core_s.value_or(0) / kHour_s;
  totals.would_lend_core_h += run.would_lend_core_s.value_or(0) / kHour_s;
  if (!run.would_save_s) return;
  totals.would_judged_gpu_h += *run.observed_s * hours;
  totals.would_save_gpu_h += *run.would_save_s * hours;
  totals.would_save_low_gpu_h += run.would_save_low_s.value_or(0) * hours;
  totals.would_save_high_gpu_h +=
      run.would_save_high_s.value_or(*run.would_save_s) * hours;
}

// A run whose mode changed belongs to no group.
void add_to_group(const RunTotals& run, double gpus, StallTotals& totals) {
  constexpr double kAll = 0.999;  // rounding apart
  const std::optional<double> stalled = stalled_s(run);
  if (!run.observed_s || !stalled || !(run.wall_s.value_or(0) > 0)) return;
  const bool is_observed = *run.observed_s >= kAll * *run.wall_s;
  if (!is_observed && *run.observed_s > 0) return;
  GroupTotals& group = is_observed ? totals.observed : totals.acted;
  const double share = *stalled / *run.wall_s;
  ++group.runs;
  group.gpu_h += *run.wall_s * gpus / kHour_s;
  group.stalled_gpu_h += *stalled * gpus / kHour_s;
  group.shares += share;
  group.squares += share * share;
}

}  // namespace

std::optional<GroupDifference> difference_of(const GroupTotals& observed,
                                             const GroupTotals& acted) {
  if (observed.runs < kLeastRuns || acted.runs < kLeastRuns) {
    return std::nullopt;
  }
  const auto mean = [](const GroupTotals& group) {
    return group.shares / double(group.runs);
  };
  const auto squared_error = [&](const GroupTotals& group) {
    const double runs = double(group.runs);
    const double sum = group.squares - runs * mean(group) * mean(group);
    return std::max(0.0, sum) / (runs - 1) / runs;
  };
  constexpr double kNormal95 = 1.96;
  const double value = mean(observed) - mean(acted);
  const double half =
      kNormal95 * std::sqrt(squared_error(observed) + squared_error(acted));
  return GroupDifference{value, value - half, value + half};
}

double gpus_of(const JobRecord& job) {
  return double(job.gpus > 0 ? job.gpus : job.ranks);
}

double ran_s(const JobRecord& job) {
  const double told_s = job.run.wall_s.value_or(0);
  if (!job.start_unix_s) return told_s;
  return std::max(told_s, job.end_unix_s.value_or(job.last_seen_unix_s) -
                              *job.start_unix_s);
}

void StallTotals::add(const JobRecord& job) {
  const double gpus = gpus_of(job);
  const RunTotals& run = job.run;
  ++runs;
  if (!job.end_unix_s) ++running;
  const double ran = ran_s(job) * gpus / kHour_s;
  ran_gpu_h += ran;
  if (job.gpus == 0) stand_in_gpu_h += ran;
  add_cores(run, *this);
  if (!run.wall_s) return;
  const double told = *run.wall_s * gpus / kHour_s;
  told_gpu_h += told;
  if (!run.waited_s) estimated_gpu_h += told;
  const auto add_part = [&](const std::optional<double>& part_s, double& hours,
                            double& known) {
    if (!part_s) return;
    hours += *part_s * gpus / kHour_s;
    known += told;
  };
  for (const WallPartNames& it : kWallParts) {
    add_part(run.parts_s[it.part], parts_gpu_h[it.part], known_gpu_h[it.part]);
  }
  add_part(stalled_s(run), stalled_gpu_h, stalled_known_gpu_h);
  add_gain(job, gpus, *this);
  add_observed(run, gpus, *this);
  add_to_group(run, gpus, *this);
}

void StallTotals::add(const StallTotals& other) {
  visit_figures([](const auto&, auto& sum, const auto& more) { sum += more; },
                *this, other);
}

double StallTotals::unattributed_gpu_h() const {
  double rest = told_gpu_h;
  for (const WallPartNames& it : kWallParts) rest -= parts_gpu_h[it.part];
  return std::max(0.0, rest);
}

json to_json(const StallTotals& totals) {
  FieldWriter<json> writer;
  visit_figures(writer, totals);
  return writer.take();
}

StallTotals read_stall_totals(const json& object) {
  StallTotals totals;
  FieldReader reader(object, kDialect);
  visit_figures(reader, totals);
  return totals;
}

}  // namespace penstock
