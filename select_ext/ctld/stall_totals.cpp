#include "select_ext/ctld/stall_totals.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

using nlohmann::json;

constexpr double kHour_s = 3600;

struct Count {
  const char* name;
  uint64_t StallTotals::*value;
};
constexpr std::array<Count, 3> kCounts = {
    {{"runs", &StallTotals::runs},
     {"running", &StallTotals::running},
     {"cores_known", &StallTotals::cores_known}}};

struct Hours {
  const char* name;
  double StallTotals::*value;
};
constexpr std::array<Hours, 20> kHours = {
    {{"ran_gpu_h", &StallTotals::ran_gpu_h},
     {"stand_in_gpu_h", &StallTotals::stand_in_gpu_h},
     {"told_gpu_h", &StallTotals::told_gpu_h},
     {"estimated_gpu_h", &StallTotals::estimated_gpu_h},
     {"compute_gpu_h", &StallTotals::compute_gpu_h},
     {"compute_known_gpu_h", &StallTotals::compute_known_gpu_h},
     {"fetch_stall_gpu_h", &StallTotals::fetch_stall_gpu_h},
     {"fetch_stall_known_gpu_h", &StallTotals::fetch_stall_known_gpu_h},
     {"prep_stall_gpu_h", &StallTotals::prep_stall_gpu_h},
     {"prep_stall_known_gpu_h", &StallTotals::prep_stall_known_gpu_h},
     {"exchange_stall_gpu_h", &StallTotals::exchange_stall_gpu_h},
     {"exchange_stall_known_gpu_h", &StallTotals::exchange_stall_known_gpu_h},
     {"stalled_gpu_h", &StallTotals::stalled_gpu_h},
     {"stalled_known_gpu_h", &StallTotals::stalled_known_gpu_h},
     {"home_core_h", &StallTotals::home_core_h},
     {"away_core_h", &StallTotals::away_core_h},
     {"lent_core_h", &StallTotals::lent_core_h},
     {"judged_gpu_h", &StallTotals::judged_gpu_h},
     {"gained_gpu_h", &StallTotals::gained_gpu_h},
     {"below_floor_gpu_h", &StallTotals::below_floor_gpu_h}}};

void add_cores(const RunTotals& run, StallTotals& totals) {
  if (!run.home_core_s || !run.away_core_s || !run.lent_core_s) return;
  ++totals.cores_known;
  totals.home_core_h += *run.home_core_s / kHour_s;
  totals.away_core_h += *run.away_core_s / kHour_s;
  totals.lent_core_h += *run.lent_core_s / kHour_s;
}

void add_gain(const JobRecord& job, double gpus, StallTotals& totals) {
  const RunTotals& run = job.run;
  const double floor = run.floor_samples_per_s.value_or(0);
  if (!job.mean_rate_samples_per_s || !run.active_s || !(floor > 0)) return;
  const double active_s = std::min(*run.active_s, run.wall_s.value_or(0));
  const double hours = active_s * gpus / kHour_s;
  const double gained = hours * (*job.mean_rate_samples_per_s / floor - 1);
  totals.judged_gpu_h += hours;
  (gained >= 0 ? totals.gained_gpu_h : totals.below_floor_gpu_h) +=
      std::abs(gained);
}

}  // namespace

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
  add_part(run.compute_s, compute_gpu_h, compute_known_gpu_h);
  add_part(run.fetch_stall_s, fetch_stall_gpu_h, fetch_stall_known_gpu_h);
  add_part(run.prep_stall_s, prep_stall_gpu_h, prep_stall_known_gpu_h);
  add_part(run.exchange_stall_s, exchange_stall_gpu_h,
           exchange_stall_known_gpu_h);
  add_part(stalled_s(run), stalled_gpu_h, stalled_known_gpu_h);
  add_gain(job, gpus, *this);
}

void StallTotals::add(const StallTotals& other) {
  for (const Count& count : kCounts) this->*count.value += other.*count.value;
  for (const Hours& hours : kHours) this->*hours.value += other.*hours.value;
}

double StallTotals::unattributed_gpu_h() const {
  return std::max(0.0, told_gpu_h - compute_gpu_h - fetch_stall_gpu_h -
                           prep_stall_gpu_h - exchange_stall_gpu_h);
}

json to_json(const StallTotals& totals) {
  json object = json::object();
  for (const Count& count : kCounts) object[count.name] = totals.*count.value;
  for (const Hours& hours : kHours) object[hours.name] = totals.*hours.value;
  return object;
}

StallTotals read_stall_totals(const json& object) {
  StallTotals totals;
  if (!object.is_object()) return totals;
  for (const Count& count : kCounts) {
    const auto found = object.find(count.name);
    if (found != object.end() && found->is_number_unsigned()) {
      totals.*count.value = found->get<uint64_t>();
    }
  }
  for (const Hours& hours : kHours) {
    const auto found = object.find(hours.name);
    if (found == object.end() || !found->is_number()) continue;
    const auto value = found->get<double>();
    if (std::isfinite(value) && value >= 0) totals.*hours.value = value;
  }
  return totals;
}

}  // namespace penstock
