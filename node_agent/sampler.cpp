#include "node_agent/sampler.h"

#include <algorithm>
#include <cmath>

#include "node_agent/job_use.h"
#include "node_agent/period.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
constexpr double kRatesKept_s = 60;
// A job that reads this share of its limit might read more.
constexpr double kPressed = 0.9;
// No sample takes less CPU time, whatever the page reports.
constexpr double kMinCpuPerSample_s = 1e-7;
// A shorter waiting time, as a share, is not split by cause.
constexpr double kWorthSplitting = 0.01;

double seconds_between(uint64_t from_ns, uint64_t to_ns) {
  return to_ns > from_ns ? double(to_ns - from_ns) * kNs : 0.0;
}

bool shares_batches(const Job& job) {
  return job.any_rank([](const Rank& rank) {
    return rank.progress && !rank.gone && rank.progress->share != 0;
  });
}

// Adds what the job was granted for this time to its totals.
void add_granted(Job& job, double granted_s) {
  Totals& totals = job.totals;
  totals.granted_home_core_s += job.grant.home_cores * granted_s;
  totals.granted_away_core_s += job.grant.away_cores * granted_s;
  totals.not_lent_core_s[size_t(job.missing.why)] +=
      job.missing.cores * granted_s;
  totals.granted_bytes += double(job.reads.limit_bytes_per_s) * granted_s;
  if (job.imagined) job.imagined_totals.add(*job.imagined, granted_s);
  // A suspended job cannot use them.
  totals.gpus.add(job.gpus(), job.stopped ? GpuUse() : job.gpu_use, granted_s);
}

}  // namespace

void Sampler::account(Unit& unit, Totals& totals) const {
  for (LoaderThread& thread : unit.threads) {
    // If the thread has ended, use the control loop's last reading.
    const SchedStat now = thread.schedstat.read().value_or(thread.ticked);
    if (now.run_ns < thread.accounted.run_ns) continue;
    const double used_s = seconds_between(thread.accounted.run_ns, now.run_ns);
    const double delay_s =
        seconds_between(thread.accounted.wait_ns, now.wait_ns);
    if (!unit.away) {
      totals.home_delay_s += delay_s;
      thread.charged.home_delay_s += delay_s;
    }
    (unit.away ? totals.away_cpu_s : totals.home_cpu_s) += used_s;
    (unit.away ? thread.charged.away_s : thread.charged.home_s) += used_s;
    totals.loader.runnable_s += used_s + delay_s;
    thread.accounted = now;
  }
}

void Sampler::read_pages(Job& job) const {
  uint32_t loader_threads = 0;
  for (auto& [pid, task] : job.tasks) {
    loader_threads += uint32_t(task.units.size());
    for (const Unit& unit : task.units) {
      job.loader.in_processes |= unit.in_order;
    }
    for (Rank& rank : task.ranks) {
      const bool is_new = !rank.progress;
      // A new rank adds its whole history: restart the observation.
      if (rank.read(job.options.batch) && is_new) {
        job.last.updated_ns = 0;
      }
      if (rank.pages.garbage() && !job.costs.contradicted) {
        job.costs.contradicted = true;
        job.note("the job's progress page holds nonsense: ignored");
      }
    }
  }
  job.loader.most_threads = std::max(job.loader.most_threads, loader_threads);
}

// The kernel counts from the group's creation. The group may be older than this
// job's record, or be created again between two steps.
void Sampler::read_pressure(Job& job) const {
  if (job.tasks.empty()) return;
  const std::string& group = job.tasks.begin()->second.accounted_path;
  const auto now = group.empty() ? Result<Pressure>(invalid("no group"))
                                 : backend_.pressure(group);
  if (!now) return;
  if (!job.totals.pressure) {
    job.totals.pressure.emplace();
    const bool is_adopted = job.quality.agent_restarts > 0;
    job.pressure_counter = is_adopted ? Pressure() : *now;
  }
  const auto add = [](uint64_t& total_us, uint64_t& last_us, uint64_t now_us) {
    total_us += now_us >= last_us ? now_us - last_us : now_us;
    last_us = now_us;
  };
  Pressure& total = *job.totals.pressure;
  add(total.cpu_us, job.pressure_counter.cpu_us, now->cpu_us);
  add(total.io_us, job.pressure_counter.io_us, now->io_us);
}

// Samples each thread's state; it stands for the whole period.
void Sampler::look_at_states(Job& job, double period_s) const {
  if (!job.loader.watches_states || !job.reports()) return;
  for (Unit* unit : job.units()) {
    for (LoaderThread& thread : unit->threads) {
      if (!thread.stat) {
        Result<ThreadStatFile> file = proc_.open_stat(thread.home.task.tid);
        if (!file) continue;
        thread.stat = *std::move(file);
      }
      const Result<char> state = thread.stat->state();
      if (state && *state == 'D') job.totals.loader.blocked_s += period_s;
    }
  }
}

Counters Sampler::count(Job& job, const std::string& device,
                        uint64_t now_ns) const {
  Counters now;
  now.time_ns = now_ns;
  now.home_cpu_s = job.totals.home_cpu_s;
  now.loader_cpu_s = now.home_cpu_s + job.totals.away_cpu_s;
  now.job_cpu_s = job.totals.job_cpu_s;
  now.loader = job.totals.loader;
  now.read_bytes = job.totals.read_bytes;
  for (const auto& [pid, task] : job.tasks) {
    for (const Rank& rank : task.ranks) {
      if (!rank.progress) continue;
      now.pages.add(*rank.progress);
      now.updated_ns = std::max(now.updated_ns, rank.progress->updated_ns);
    }
  }
  if (!job.tasks.empty()) {
    const Task& any = job.tasks.begin()->second;
    if (auto used = backend_.cpu_usage_ns(any.accounted_path);
        !any.accounted_path.empty() && used) {
      // The kernel counts from the group's creation, which may come again.
      const double counter_s = double(*used) * kNs;
      const double grown_s = counter_s - job.cpu_counter_s;
      now.job_cpu_s += grown_s >= 0 ? grown_s : counter_s;
      job.cpu_counter_s = counter_s;
    }
  }
  const auto bytes = device.empty() ? Result<uint64_t>(invalid("no device"))
                                    : backend_.io_read_bytes(job.id, device);
  if (bytes) {
    // The kernel's counter restarts with the job's group.
    const double grown = double(*bytes) - job.reads.counter_bytes;
    now.read_bytes += grown >= 0 ? grown : double(*bytes);
    job.reads.counter_bytes = double(*bytes);
    job.reads.kernel_counts_bytes = true;
  } else if (!job.reads.kernel_counts_bytes) {
    // A network file system, or no io controller: use the loader's count.
    if (const double told = job.pages().counted.bytes; told > 0)
      now.read_bytes = told;
  }
  return now;
}

// A page that reports samples while the loader used no CPU time is false, or
// the loader was not found. In both cases the job gets its entitlement.
void Sampler::watch_contradictions(Job& job, const Counters& now) const {
  const double prepared = now.pages.since(job.last.pages).prepared;
  const double cpu_s = now.loader_cpu_s - job.last.loader_cpu_s;
  const bool found = std::any_of(
      job.tasks.begin(), job.tasks.end(),
      [](const auto& entry) { return !entry.second.units.empty(); });
  if (found && prepared > 1000 && cpu_s < prepared * kMinCpuPerSample_s) {
    if (!job.costs.contradicted) {
      job.note(
          "the job reports samples that took no CPU time: back on its "
          "entitlement");
    }
    job.costs.contradicted = true;
  }
}

void Sampler::observe(Job& job, const Counters& now) const {
  // Pages advance by whole batches, so an observation ends with a batch.
  if (now.updated_ns <= job.last.updated_ns) return;
  if (job.last.updated_ns == 0) {
    job.forget_trainer_use();  // imports and set-up are not training
    job.course.give_up();
    job.last = now;
    return;
  }
  const double ranks = job.ranks();
  const double clock_s = seconds_between(job.last.time_ns, now.time_ns);
  const PageCounters grown = now.pages.since(job.last.pages);
  Observation seen;
  seen.seconds = seconds_between(job.last.updated_ns, now.updated_ns);
  seen.samples = grown.samples / ranks;
  seen.wait_s = grown.wait_ns * kNs / ranks;
  const double exchange_s = grown.exchange_ns * kNs / ranks;
  const double busy_s = (seen.seconds - seen.wait_s - exchange_s) * ranks;
  const double contention =
      job.is_apart() ? 0 : contention_s(job.last, now, busy_s);
  job.totals.contention_s += contention;
  seen.contention_s = contention / ranks;
  seen.prepared = grown.prepared / ranks;
  seen.bytes = (now.read_bytes - job.last.read_bytes) / ranks;
  seen.cached_bytes = std::max(0.0, grown.cached_bytes) / ranks;
  seen.loader_cpu_s = (now.loader_cpu_s - job.last.loader_cpu_s) / ranks;
  const double trainer_s = std::max(
      0.0, now.job_cpu_s - job.last.job_cpu_s - seen.loader_cpu_s * ranks);
  seen.trainer_cpu_s = trainer_s / ranks;
  seen.sampled_s = clock_s;
  seen.replaying = job.pages().replaying;
  seen.sharing = shares_batches(job);
  seen.ended_s = double(now.time_ns) * kNs;
  watch_contradictions(job, now);
  job.costs.corrector.add(seen);
  job.rates.push_back(
      {double(now.time_ns) * kNs,
       seen.seconds > 0 ? seen.samples * ranks / seen.seconds : 0});
  tell_course(job, now, seen);
  job.last = now;
}

// Completes the course's periods since the last observation.
void Sampler::tell_course(Job& job, const Counters& now,
                          const Observation& seen) const {
  const Counters& last = job.last;
  const double ranks = job.ranks();
  const PageCounters grown = now.pages.since(last.pages);
  const LoaderTime loader{now.loader.runnable_s - last.loader.runnable_s,
                          now.loader.blocked_s - last.loader.blocked_s};
  const WaitSplit split = split_by_kernel(grown.wait_ns * kNs, loader);
  const bool tells_itself = now.pages.tells_loading();
  job.loader.watches_states =
      !tells_itself && seen.wait_s >= kWorthSplitting * seen.seconds;
  TimeSpent spent;
  spent.wall_s = spent.active_s = seen.seconds;
  spent.reports = true;
  spent.wait_s = seen.wait_s;
  spent.exchange_s = grown.exchange_ns * kNs / ranks;
  spent.contention_s = seen.contention_s;
  spent.fetch_s = grown.fetch_s();
  spent.prep_s = grown.prep_s();
  if (!tells_itself) {
    job.totals.by_kernel.fetch_s += split.fetch_s;
    job.totals.by_kernel.prep_s += split.prep_s;
    spent.by_kernel = {split.fetch_s / ranks, split.prep_s / ranks};
  }
  job.course.tell(job.rates.back().rate, attribute(spent));
}

void Sampler::sample(Job& job, const std::string& device, double period_s,
                     uint64_t now_ns) const {
  for (Unit* unit : job.units()) account(*unit, job.totals);
  read_pages(job);
  read_pressure(job);
  look_at_states(job, period_s);
  job.note_widest();

  const double read_before = job.totals.read_bytes;
  const Counters now = count(job, device, now_ns);
  job.totals.read_bytes = now.read_bytes;
  job.reads.knows_bytes = job.reads.kernel_counts_bytes || now.read_bytes > 0;
  job.totals.job_cpu_s = now.job_cpu_s;
  add_granted(job, std::min(period_s, seconds_between(job.started_ns, now_ns)));
  if (period_s > 0) {
    note_use(job, job.trainer.delay.lap_s(proc_, job.tasks), period_s);
    job.reads.bytes_per_s =
        std::max(0.0, now.read_bytes - read_before) / period_s;
    job.reads.pool_pressed =
        job.reads.limit_bytes_per_s > 0 &&
        job.reads.bytes_per_s >= kPressed * double(job.reads.limit_bytes_per_s);
  }
  record_period(job, period_s, now_ns);
  job.sampled = job.totals;
  job.sampled_ns = now_ns;
  for (auto& [pid, task] : job.tasks) task.dropped.clear();
  for (Unit* unit : job.units()) {
    for (LoaderThread& thread : unit->threads) thread.sampled = thread.charged;
  }
  ++job.quality.periods;
  if (job.stopped) {
    job.last.updated_ns = 0;  // observations must not include the stop
    job.course.give_up();
  } else {
    observe(job, now);
  }
  while (!job.rates.empty() &&
         double(now_ns) * kNs - job.rates.front().time_s > kRatesKept_s) {
    job.rates.pop_front();
  }
}

}  // namespace penstock
