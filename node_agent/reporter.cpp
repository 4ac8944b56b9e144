#include "node_agent/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "node_agent/plan/attribution.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
// Bytes of a cached sample besides its data: its label, and on average half of
// the alignment of samples.
constexpr double kPlaceBytes = 8 + 32;

std::optional<Estimate> known(const Figure& figure, double factor = 1) {
  if (!figure.known()) return std::nullopt;
  return Estimate{figure.value * factor, figure.low * factor,
                  figure.high * factor};
}

uint32_t ranks_of(const Job& job, const PageSums& sums) {
  if (sums.ranks > 0) return uint32_t(std::lround(sums.ranks_at_once()));
  return std::max(1u, job.widest.tasks);
}

PressureFigures pressure_of(const Job& job, double run_s) {
  if (!job.totals.pressure) return {};
  const auto bounded_s = [run_s](uint64_t us) {
    return std::clamp(double(us) * 1e-6, 0.0, std::max(0.0, run_s));
  };
  return {bounded_s(job.totals.pressure->cpu_us),
          bounded_s(job.totals.pressure->io_us), "PSI some"};
}

TimeSpent time_spent(const Job& job, const PageSums& sums,
                     const PressureFigures& pressure, double run_s) {
  TimeSpent spent;
  spent.wall_s = run_s;
  spent.cpu_pressure_s = pressure.cpu_s;
  spent.io_pressure_s = pressure.io_s;
  if (job.totals.gpus.watched_s > 0) spent.gpu_busy_s = job.totals.gpus.busy_s;
  if (!(sums.ranks > 0)) return spent;
  const double ranks = sums.ranks_at_once();
  const PageCounters& counted = sums.counted;
  spent.reports = true;
  spent.active_s = sums.active_s / ranks;
  spent.wait_s = counted.wait_ns * kNs / ranks;
  spent.exchange_s = counted.exchange_ns * kNs / ranks;
  spent.contention_s = job.totals.contention_s / ranks;
  spent.fetch_s = counted.fetch_s();
  spent.prep_s = counted.prep_s();
  spent.by_kernel = {job.totals.by_kernel.fetch_s / ranks,
                     job.totals.by_kernel.prep_s / ranks};
  return spent;
}

Compared ceiling_of(const Job& job, const PageSums& sums) {
  Compared ceiling;
  if (job.costs.prior) {
    ceiling.predicted =
        known(job.costs.prior->ceiling_samples_per_s, ranks_of(job, sums));
    ceiling.predicted_from = job.costs.prior->basis;
  }
  if (job.costs.first_corrected_ceiling) {
    ceiling.corrected = job.costs.first_corrected_ceiling;
    ceiling.corrected_from = "measured in the first 10 s";
  }
  const double contention_s = job.totals.contention_s;
  const double compute_s =
      sums.active_s - sums.counted.wait_ns * kNs - contention_s;
  if (sums.counted.samples > 0 && compute_s > 0) {
    ceiling.measured = Estimate::exact(sums.counted.samples / compute_s *
                                       sums.ranks_at_once());
    ceiling.measured_by = sums.replaying ? "one batch replayed"
                          : contention_s > 0
                              ? "rate while waiting neither for data nor for a "
                                "CPU that its loader used"
                              : "rate while not waiting for data";
  }
  return ceiling;
}

Compared throughput_of(const Job& job, const PageSums& sums) {
  Compared throughput;
  const auto rate = job.widest.grant.samples_per_s(&PlannedGrant::rate);
  if (rate && job.costs.corrected) {
    throughput.predicted = Estimate::exact(*rate);
    throughput.predicted_from = "the last grant";
  }
  if (sums.active_s > 0) {
    throughput.measured = Estimate::exact(sums.counted.samples / sums.active_s *
                                          sums.ranks_at_once());
    throughput.measured_by = "progress page";
  }
  return throughput;
}

LoaderKind kind_of(const Job& job, const PageSums& sums) {
  if (job.loader.most_threads == 0) {
    return sums.counted.prep_s() > 0 && sums.counted.prepared > 0
               ? LoaderKind::kTrainer
               : LoaderKind::kUnknown;
  }
  return job.loader.in_processes ? LoaderKind::kProcesses
                                 : LoaderKind::kThreads;
}

std::vector<CoresNotLent> not_lent(const Totals& totals, double run_s) {
  constexpr double kLeast = 0.005;  // would be told as 0.00
  std::vector<CoresNotLent> out;
  for (int i = 0; run_s > 0 && i < kNotLentCount; ++i) {
    const double cores = totals.not_lent_core_s[size_t(i)] / run_s;
    if (cores >= kLeast) out.push_back({NotLent(i), cores});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.cores > b.cores; });
  return out;
}

std::vector<LentBy> lent_by(const Totals& totals, double run_s) {
  std::map<uint64_t, double> cores;
  for (const auto& [id, cpu_s] : totals.lent_by_cpu_s) {
    if (run_s > 0) cores[id] = cpu_s / run_s;
  }
  return largest_lenders(cores);
}

// A trainer that loads its data itself, as with num_workers=0: its preparation
// is the loader's work.
void take_from_trainer(const PageSums& sums, double run_s,
                       const std::optional<Estimate>& ceiling,
                       CoreFigures& cores) {
  cores.loader_threads = 0;
  const double prep_s = sums.counted.prep_s();
  if (run_s > 0 && cores.used_trainer) {
    cores.used_home = std::min(prep_s / run_s, *cores.used_trainer);
    *cores.used_trainer -= *cores.used_home;
  }
  if (!ceiling) return;
  const double demand = ceiling->value * prep_s / sums.counted.prepared;
  cores.demand = Estimate::exact(demand);
  if (!cores.trainer_demand) return;
  for (double* end : {&cores.trainer_demand->value, &cores.trainer_demand->low,
                      &cores.trainer_demand->high}) {
    *end = std::max(0.0, *end - demand);
  }
}

CoreFigures cores_of(const Job& job, const ReportContext& context,
                     const PageSums& sums, const Compared& ceiling,
                     uint32_t ranks, double run_s) {
  CoreFigures cores;
  if (context.node_cpus > 0) cores.node = double(context.node_cpus);
  if (!job.widest.cpus.empty()) cores.job = double(job.widest.cpus.size());
  const CpuSet& of_tasks =
      job.widest.task_cpus.empty() ? job.widest.cpus : job.widest.task_cpus;
  const double allocated = double(of_tasks.size());
  if (allocated > 0) cores.allocated = allocated;
  cores.reserve = job.widest.reserve_cores;
  if (allocated > 0) {
    cores.entitled = std::max(0.0, allocated - *cores.reserve);
  }
  if (job.options.threads > 0) cores.requested = job.options.threads;
  if (run_s > 0) {
    cores.granted_home = job.totals.granted_home_core_s / run_s;
    cores.granted_away = job.totals.granted_away_core_s / run_s;
    cores.used_home = job.totals.home_cpu_s / run_s;
    cores.used_away = job.totals.away_cpu_s / run_s;
    const double loader_s = job.totals.home_cpu_s + job.totals.away_cpu_s;
    // The kernel counts from the job's start, penstockd from its own.
    if (job.totals.job_cpu_s > 0 && job.quality.agent_restarts == 0) {
      cores.used_trainer =
          std::max(0.0, job.totals.job_cpu_s - loader_s) / run_s;
    }
  }
  if (job.costs.corrected) {
    const Prediction& corrected = *job.costs.corrected;
    cores.demand = known(corrected.demand_cores, ranks);
    if (ceiling.measured) {
      cores.trainer_demand =
          known(corrected.trainer_cpu_s_per_sample, ceiling.measured->value);
    }
  }
  if (job.loader.most_threads > 0) {
    cores.loader_threads = job.loader.most_threads;
  }
  cores.loader_kind = kind_of(job, sums);
  cores.launch = job.widest.launch;
  cores.loader_grows = job.widest.elastic;
  cores.not_lent = not_lent(job.totals, run_s);
  cores.lent_by = lent_by(job.totals, run_s);
  if (cores.loader_kind == LoaderKind::kTrainer) {
    take_from_trainer(sums, run_s, ceiling.measured, cores);
  }
  return cores;
}

std::optional<SlowestRank> slowest_rank(const PageSums& sums,
                                        const std::string& node) {
  if (!sums.slowest || !(sums.active_s > 0)) return std::nullopt;
  SlowestRank out;
  out.node = node;
  out.task = sums.slowest->rank.task;
  out.process = sums.slowest->rank.process;
  out.waited = sums.slowest->share;
  out.mean = std::min(1.0, sums.counted.wait_ns * kNs / sums.active_s);
  const PageCounters& counted = sums.slowest->counted;
  if (counted.tells_loading()) {
    out.for_storage = counted.fetch_s() > counted.prep_s();
  }
  return out;
}

GpuFigures gpus_of(const Job& job) {
  const GpuTotals& totals = job.totals.gpus;
  GpuFigures gpus;
  gpus.count = uint32_t(totals.gpus.size());
  gpus.known = uint32_t(totals.known.size());
  if (totals.watched_s > 0) {
    gpus.use = totals.busy_s / totals.watched_s;
    gpus.longest_idle_s = totals.longest_idle_s;
  }
  if (totals.memory) {
    gpus.memory_used_bytes = double(totals.memory->used_bytes);
    gpus.memory_bytes = double(totals.memory->bytes);
  }
  return gpus;
}

BandwidthFigures bandwidth_of(const Job& job, const ReportContext& context,
                              uint32_t ranks, double run_s) {
  BandwidthFigures bandwidth;
  if (job.options.bw_bytes_per_s > 0) {
    bandwidth.requested_bytes_per_s = double(job.options.bw_bytes_per_s);
  }
  if (context.pool < 0) return bandwidth;
  const PoolConfig& pool = context.config->pools[size_t(context.pool)];
  bandwidth.pool = pool.name;
  bandwidth.pool_bytes_per_s = double(pool.bandwidth_bytes_per_s);
  if (job.widest.grant.entitled_bytes_per_s > 0) {
    bandwidth.entitled_bytes_per_s = job.widest.grant.entitled_bytes_per_s;
  }
  if (run_s > 0) {
    if (job.totals.granted_bytes > 0) {
      bandwidth.granted_bytes_per_s = job.totals.granted_bytes / run_s;
    }
    if (job.reads.knows_bytes) {
      bandwidth.used_bytes_per_s = job.totals.read_bytes / run_s;
    }
  }
  if (job.costs.corrected) {
    bandwidth.demand_bytes_per_s =
        known(job.costs.corrected->demand_bytes_per_s, ranks);
  }
  return bandwidth;
}

CacheFigures cache_of(const PageSums& sums) {
  const PageCounters& counted = sums.counted;
  if (!(counted.cached > 0) && !(sums.held_share > 0)) return {};
  CacheFigures cache;
  cache.hits = counted.cached;
  cache.hit_bytes = counted.cached_bytes;
  cache.peer_hits = counted.peer;
  cache.peer_bytes = counted.peer_bytes;
  if (counted.prepared > 0) {
    cache.hit_share = std::min(1.0, counted.cached / counted.prepared);
  }
  cache.held_share = sums.held_share;
  if (counted.cached > 0) {
    const double bytes = counted.cached_bytes / counted.cached + kPlaceBytes;
    cache.held_bytes = bytes * sums.held_samples;
  }
  return cache;
}

LoaderSource source_of(const Job& job) {
  switch (job.loader.evidence) {
    case LoaderEvidence::kRegistered:
      return LoaderSource::kRegistered;
    case LoaderEvidence::kMatch:
      return LoaderSource::kMatch;
    case LoaderEvidence::kNames:
    case LoaderEvidence::kParentage:
      return LoaderSource::kNames;
    case LoaderEvidence::kGuest:
      return LoaderSource::kGuest;
    case LoaderEvidence::kNone:
      break;
  }
  return LoaderSource::kNone;
}

Counted counted_of(const Job& job, const PageSums& sums) {
  const Greetings& greetings = job.greetings;
  if (sums.counted.samples > 0) {
    const bool is_hook = greetings.hook && !greetings.program;
    return is_hook ? Counted::kHook : Counted::kProgram;
  }
  if (greetings.hook) return Counted::kNoStep;
  if (greetings.refused) return Counted::kSiteOff;
  if (asks_for_watching(job.options)) return Counted::kUnseen;
  return job.options.watch == PENSTOCK_WATCH_OFF ? Counted::kUserOff
                                                 : Counted::kNoHook;
}

std::vector<std::string> notes_of(const Job& job) {
  std::vector<std::string> notes = job.notes;
  if (job.sharing.most_sharers > 1 && notes.size() < kMaxReportNotes) {
    notes.push_back(
        fmt::format("it prepared its batches together with others, {} ranks in "
                    "all at most; the cores and bandwidth that it needs are "
                    "its part of what that takes",
                    job.sharing.most_sharers));
  }
  return notes;
}

}  // namespace

std::vector<OptionGiven> options_given(const penstock_wire_options& options) {
  std::vector<OptionGiven> given;
  for (int i = 0; i < kOptionCount; ++i) {
    std::string value = option_spec(i).shown(options);
    if (!value.empty())
      given.push_back({option_spec(i).name, std::move(value)});
  }
  return given;
}

JobReport build_report(const Job& job, const ReportContext& context,
                       bool running) {
  const PageSums sums = job.pages();
  const double run_s = double(context.now_ns - job.started_ns) * kNs;
  JobReport report;
  report.job_id = job.id;
  report.job_name = job.name;
  report.user_id = job.uid;
  report.node = context.node;
  report.start_unix_s = job.started_unix_s;
  if (!running) report.end_unix_s = context.now_unix_s;
  report.updated_unix_s = context.now_unix_s;
  report.running = running;
  report.tasks = std::max(1u, job.widest.tasks);
  report.ranks = ranks_of(job, sums);
  report.options = options_given(job.options);
  report.policy = policy_name(context.config->policy);
  report.ceiling = ceiling_of(job, sums);
  report.throughput = throughput_of(job, sums);
  if (job.costs.corrected) {
    report.floor_rate = job.widest.grant.samples_per_s(&PlannedGrant::floor);
  }
  report.pressure = pressure_of(job, run_s);
  report.breakdown = attribute(time_spent(job, sums, report.pressure, run_s));
  report.cores =
      cores_of(job, context, sums, report.ceiling, report.ranks, run_s);
  report.gpus = gpus_of(job);
  report.slowest_rank = slowest_rank(sums, report.node);
  report.bandwidth = bandwidth_of(job, context, report.ranks, run_s);
  report.cache = cache_of(sums);
  report.changes = job.changes.list;
  report.changes_dropped = job.changes.dropped;
  report.quality = job.quality;
  report.quality.sample_period_s =
      double(context.config->sample_period_ms) * 1e-3;
  report.quality.samples = uint64_t(sums.counted.samples);
  report.quality.counted = counted_of(job, sums);
  report.quality.loader_source = source_of(job);
  report.quality.process_events = context.process_events;
  report.quality.pages_contradicted = job.costs.contradicted;
  report.recommend_after_s = context.config->report_min_seconds;
  report.notes = notes_of(job);
  return report;
}

}  // namespace penstock
