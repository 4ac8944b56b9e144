#include "node_agent/enforcer.h"

#include <algorithm>
#include <cmath>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/topology.h"

namespace penstock {
namespace {

// A smaller relative change of a limit is not applied: each write costs a
// system call, and measured costs fluctuate.
constexpr double kSameLimit = 0.02;

bool is_close(uint64_t a, uint64_t b) {
  const double larger = double(std::max(a, b));
  return double(std::max(a, b) - std::min(a, b)) <= kSameLimit * larger;
}

uint64_t as_limit(double bytes_per_s) {
  return bytes_per_s <= 0 ? 0 : std::max<uint64_t>(4096, uint64_t(bytes_per_s));
}

// The grant's limit, or the lower limit that the job requested for a
// measurement.
double bytes_per_s_of(const Job& job, const PlannedGrant& grant) {
  if (!job.measured_limit || job.measured_limit->bytes_per_s == 0) {
    return grant.bytes_per_s;
  }
  const double asked =
      double(job.measured_limit->bytes_per_s) * double(job.ranks());
  return grant.bytes_per_s <= 0 ? asked : std::min(asked, grant.bytes_per_s);
}

// Grants are per job, hints per rank. All ranks progress at one rate, so each
// gets an equal part.
Hint hint_of(const Job& job) {
  const PlannedGrant& grant = job.grant;
  const uint32_t ranks = job.ranks();
  Hint hint;
  hint.loader_threads = (grant.loader_threads + ranks - 1) / ranks;
  const double cores = (grant.home_cores + grant.away_cores) / double(ranks);
  hint.granted_millicores = uint64_t(std::llround(cores * 1000.0));
  hint.rate_bytes_per_s = as_limit(bytes_per_s_of(job, grant) / double(ranks));
  hint.kernel_limited = job.reads.limit_bytes_per_s > 0;
  return hint;
}

// Logs once, because every tick may retry. kNotFound is no error: the job's
// thread or group has just ended.
void complain(Job& job, const char* what, const Status& status) {
  if (status || status.error().code == Code::kNotFound) return;
  const std::string text = std::string(what) + ": " + status.error().message;
  if (job.note(text)) log_warning("job {}: {}", job.id, text);
}

// Where away threads run without a lent CPU, and yield to all others: at home
// for a moment, or for as long as a guest has no other CPU. A guest is held
// back on one. It might otherwise harm the CPU's owner by more than time, and
// it would make the CPU look busy.
CpuSet refuge_of(const Job& job) {
  const CpuSet own = job.cpus();
  if (!job.loan.gives_way || own.empty()) return own;
  return CpuSet({own.cpus().front()});
}

}  // namespace

bool needs_ticks(Job& job) {
  if (!job.grant.away_cpus.empty()) return true;
  const auto units = job.units();
  return std::any_of(units.begin(), units.end(), [&job](const Unit* unit) {
    return unit->away != job.loan.gives_way;
  });
}

void Enforcer::set_away(Job& job, const CpuSet& cpus) {
  if (cpus == job.loan.cpus) return;
  if (cpus.empty()) return leave(job, job.loan.cpus);
  Status status = backend_.set_away_cpus(job.id, cpus);
  complain(job, "lent CPUs", status);
  if (status && job.loan.gives_way) status = backend_.hold_back(job.id, false);
  if (status) job.loan.cpus = cpus;
}

void Enforcer::set_limit(Job& job, const std::string& device,
                         uint64_t bytes_per_s) {
  if (!job.reads.limit_device.empty() && job.reads.limit_device != device) {
    complain(job, "lifting the I/O limit",
             backend_.clear_io_limit(job.id, job.reads.limit_device));
    job.reads.limit_device.clear();
    job.reads.limit_bytes_per_s = 0;
  }
  if (device.empty() || is_close(bytes_per_s, job.reads.limit_bytes_per_s))
    return;
  Status status = bytes_per_s == 0
                      ? backend_.clear_io_limit(job.id, device)
                      : backend_.set_io_limit(job.id, device, bytes_per_s);
  complain(job, "I/O limit", status);
  if (!status) return;
  job.reads.limit_bytes_per_s = bytes_per_s;
  job.reads.limit_device = bytes_per_s == 0 ? "" : device;
}

void Enforcer::publish_hints(Job& job) {
  const Hint hint = job.observed ? Hint() : hint_of(job);
  for (auto& [pid, task] : job.tasks) {
    for (Rank& rank : task.ranks) rank.pages.publish(hint);
  }
}

void Enforcer::apply(const Plan& plan, const std::vector<PlanJob>& planned,
                     const std::vector<std::string>& devices,
                     std::map<JobId, Job>& jobs) {
  auto device_of = [&](size_t i) {
    const int pool = planned[i].pool;
    return pool < 0 ? std::string() : devices[size_t(pool)];
  };
  // Decreases first, so that nothing is granted twice even for a moment.
  for (const bool growing : {false, true}) {
    for (size_t i = 0; i < plan.grants.size(); ++i) {
      Job& job = jobs.at(JobId(plan.grants[i].id));
      const uint64_t limit = as_limit(bytes_per_s_of(job, plan.grants[i]));
      const bool limit_grows =
          limit == 0 || (job.reads.limit_bytes_per_s != 0 &&
                         limit > job.reads.limit_bytes_per_s);
      if (limit_grows == growing) set_limit(job, device_of(i), limit);
      job.loan.own_cpus = job.loan.gives_way ? planned[i].home_cpus : CpuSet();
      const CpuSet wanted = plan.grants[i].away_cpus | job.loan.own_cpus;
      set_away(job, growing ? wanted : wanted & job.loan.cpus);
    }
  }
  for (size_t i = 0; i < plan.grants.size(); ++i) {
    Job& job = jobs.at(JobId(plan.grants[i].id));
    job.grant = plan.grants[i];
    publish_hints(job);
  }
}

Status Enforcer::take_in(Job& job, const Task& task) {
  if (!job.loan.gives_way) {
    Status can = backend_.give_way(job.id);
    // The program may count its CPUs.
    if (can) can = backend_.set_away_cpus(job.id, job.cpus());
    if (!can) return can;
    job.loan.cpus = job.cpus();
  }
  Status sent = backend_.send_away(job.id, task.home);
  // It has ended, or its move goes on in the next tick.
  const bool is_fine = sent || sent.error().code == Code::kNotFound ||
                       sent.error().code == Code::kLimit;
  job.loan.gives_way = job.loan.gives_way || is_fine;
  return is_fine ? Status(Done{}) : sent;
}

void Enforcer::leave(Job& job, const CpuSet& cpus) {
  if ((job.loan.cpus & cpus).empty()) return;
  const CpuSet left = job.loan.cpus - cpus;
  Status status =
      backend_.set_away_cpus(job.id, left.empty() ? refuge_of(job) : left);
  if (status && left.empty() && job.loan.gives_way) {
    status = backend_.hold_back(job.id, true);
  }
  complain(job, "leaving CPUs", status);
  if (status) job.loan.cpus = left;
}

void Enforcer::vacate(Job& job, const CpuSet& cpus) {
  if (job.loan.cpus.empty() && job.grant.away_cpus.empty()) return;
  const CpuSet cores = with_siblings(cpus, core_of_cpu_);
  leave(job, cores);
  job.grant.away_cpus = job.grant.away_cpus - cores;
  job.loan.own_cpus = job.loan.own_cpus - cores;
}

void Enforcer::bring_home(Job& job, Unit& unit) {
  if (!unit.away) return;
  bool some_stayed = false;
  for (LoaderThread& thread : unit.threads) {
    Status status = backend_.bring_home(thread.home);
    complain(job, "bringing a thread home", status);
    // Threads that stayed away are retried at the next tick.
    some_stayed =
        some_stayed || (!status && status.error().code != Code::kNotFound);
  }
  // After the moves, because the kernel counts a wait for the lender's CPU when
  // it ends.
  sampler_.account(unit, job.totals);
  unit.away = some_stayed;
}

void Enforcer::send_away(Job& job, Unit& unit) {
  sampler_.account(unit, job.totals);
  for (LoaderThread& thread : unit.threads) {
    // Users may have changed the affinity since the scan; restore the current
    // one later.
    if (auto mask = sched_.affinity(thread.home.task.tid)) {
      thread.home.affinity = *mask;
    }
    Status status = backend_.send_away(job.id, thread.home);
    const bool is_later = !status && status.error().code == Code::kLimit;
    if (!is_later) complain(job, "a thread could not be lent a CPU", status);
    // No thread of the unit has moved, so the next tick can retry.
    if (!status && (is_later || status.error().code == Code::kUnavailable) &&
        thread.home.task == unit.threads.front().home.task) {
      return;
    }
    if (!status && status.error().code != Code::kNotFound) {
      unit.away = true;  // some of its threads are away
      bring_home(job, unit);
      return;
    }
  }
  unit.away = true;
}

// Finds the CPU of an away unit, and whether the unit is runnable.
void Enforcer::look_closer(std::span<const LoaderThread> threads,
                           UnitObservation& seen) const {
  for (const LoaderThread& thread : threads) {
    Result<ProcStat> stat = proc_.stat(thread.home.task.tid);
    if (!stat) continue;
    if (seen.cpu < 0) seen.cpu = stat->processor;
    if (stat->state != 'R') continue;
    seen.runnable = true;
    seen.cpu = stat->processor;
    return;
  }
}

AwayInput Enforcer::look(Job& job, double now_ms, double tick_ms,
                         const CpuIdle& idle) {
  // After a pause of the loop, the units' times cover more than a tick.
  const bool is_first = job.loan.looked_at_ms < now_ms - 1.5 * tick_ms;
  job.loan.looked_at_ms = now_ms;
  AwayInput input;
  input.now_ms = now_ms;
  input.tick_ms = is_first ? 0 : tick_ms;
  input.all_away = job.loan.gives_way;
  input.lent = job.grant.away_cpus;
  input.home_cores =
      std::max(0.0, job.grant.home_cores - job.trainer.crowded_cores);
  input.away_cores = job.grant.away_cores;
  input.idle_share_of_cpu = idle.shares();
  input.core_of_cpu = core_of_cpu_;
  for (Unit* unit : job.units()) {
    std::vector<UnitObservation> seen(1);
    for (LoaderThread& thread : unit->threads) {
      Result<SchedStat> now = thread.schedstat.read();
      if (!now) continue;
      // Of a guest, which thread starves on which CPU matters.
      if (input.all_away && unit->away) seen.emplace_back();
      if (!is_first) {
        seen.back().run_ms += double(now->run_ns - thread.ticked.run_ns) * 1e-6;
      }
      thread.ticked = *now;
      if (seen.size() > 1) look_closer({&thread, 1}, seen.back());
    }
    if (unit->away && seen.size() == 1) look_closer(unit->threads, seen[0]);
    if (seen.size() > 1) seen.erase(seen.begin());
    for (UnitObservation& it : seen) {
      it.id = unit->id;
      it.away = unit->away;
      it.in_order = unit->in_order;
      input.units.push_back(it);
    }
  }
  return input;
}

Enforcer::Tick Enforcer::tick(Job& job, double now_ms, double tick_ms,
                              const CpuIdle& idle, uint64_t& send_left_ns) {
  const std::vector<Unit*> units = job.units();
  if (!needs_ticks(job)) return {};
  const AwayInput input = look(job, now_ms, tick_ms, idle);
  const AwayMoves moves = job.loan.policy.decide(input);
  const CpuSet usable = moves.usable | job.loan.own_cpus;
  auto unit_of = [&](int id) {
    return *std::find_if(units.begin(), units.end(),
                         [id](const Unit* unit) { return unit->id == id; });
  };
  const Tick done{moves.recalled_after_ms.has_value(),
                  !(usable - job.loan.cpus).empty()};
  // Takes the CPUs at once, because the moves below may take 30 ms.
  if (moves.recalled_after_ms) leave(job, job.loan.cpus - usable);
  for (int id : moves.bring_home) bring_home(job, *unit_of(id));
  if (moves.recalled_after_ms) {
    recall_.add_ms(*moves.recalled_after_ms +
                   (double(monotonic_ns()) * 1e-6 - now_ms));
  }
  set_away(job, usable);
  for (int id : moves.send_away) {
    if (send_left_ns == 0) break;
    const uint64_t began_ns = monotonic_ns();
    send_away(job, *unit_of(id));
    send_left_ns -= std::min(send_left_ns, monotonic_ns() - began_ns);
  }
  return done;
}

Status Enforcer::release(Job& job, const FindHome& find_home) {
  for (Unit* unit : job.units()) bring_home(job, *unit);
  job.loan.cpus = {};
  job.loan.own_cpus = {};
  job.loan.gives_way = false;
  job.reads.limit_bytes_per_s = 0;
  job.reads.limit_device.clear();
  return backend_.remove_job(job.id, find_home);
}

}  // namespace penstock
