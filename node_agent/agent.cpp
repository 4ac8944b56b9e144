// Life cycle, timers, configuration.
#include "node_agent/agent.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/version.h"
#include "node_agent/correction.h"
#include "node_agent/grant_changes.h"
#include "node_agent/guardian.h"
#include "node_agent/home_finder.h"
#include "node_agent/job_totals.h"
#include "node_agent/job_what_if.h"
#include "node_agent/last_sweep.h"
#include "node_agent/reporter.h"
#include "node_agent/sharers.h"
#include "node_agent/stopped.h"
#include "report/file.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
constexpr uint64_t kTick_ms = 20;
// Time for sending threads of all jobs away in one tick. The rest waits for the
// next tick, because an owner may recall a CPU meanwhile.
constexpr uint64_t kSend_ns = 20'000'000;
constexpr uint64_t kBeat_ms = 1000;
// Values overwritten by Slurm or systemd must be restored within a second.
constexpr uint64_t kRefresh_ms = 500;
// Polling interval of /proc without process events. With events, the rescan
// every kRescan_s only makes up for lost ones.
constexpr uint64_t kPoll_ms = 100;
constexpr double kRescan_s = 10;
constexpr uint64_t kCacheSweep_ms = 10000;

LatencyFigures figures_of(const LatencyRecord& record) {
  LatencyFigures figures;
  figures.count = record.count();
  if (figures.count == 0) return figures;
  figures.p50_ms = record.percentile_ms(0.5);
  figures.p99_ms = record.percentile_ms(0.99);
  figures.max_ms = record.max_ms();
  return figures;
}

double own_cpu_s() {
  return double(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * kNs;
}

}  // namespace

Agent::Agent(Machine machine, Config config)
    : machine_(std::move(machine)),
      config_(std::move(config)),
      registry_(machine_.proc, machine_.backend),
      scanner_(machine_.proc, machine_.backend),
      sampler_(machine_.backend, machine_.proc),
      enforcer_(machine_.backend, machine_.proc, machine_.sched, sampler_,
                machine_.topology.core_of_cpu),
      splitter_(machine_.proc, machine_.sched),
      metrics_file_(children_),
      children_(machine_.loop) {}

Status Agent::start() {
  started_ns_ = sampled_ns_ = ticked_ns_ = monotonic_ns();
  look_up_paths();

  Result<std::vector<SavedTask>> saved = load_tasks(machine_.state_dir_fd);
  if (!saved) {
    log_warning("{}: running jobs are not adopted", saved.error().message);
    saved = std::vector<SavedTask>();
  }

  Status timers = start_timers();
  if (!timers) return timers;
  Result<std::unique_ptr<Server>> server =
      Server::listen(machine_.loop, config_.socket_path,
                     [this](const Message& message, const Peer& peer) {
                       return handle(message, peer);
                     });
  if (!server) return std::move(server).error();
  server_ = *std::move(server);
  server_->set_limits({config_.max_weight});
  look_for_off_mark();
  // First bring home the threads that an earlier penstockd left away: adopt()
  // expects running jobs at home.
  Status swept = machine_.backend.sweep(
      {}, home_finder(machine_.proc, machine_.backend, *saved));
  if (!swept) log_warning("sweeping leftovers: {}", swept.error().message);
  leftovers_ = !swept;
  adopt(*saved);
  Status watched = watch_processes();
  if (!watched) return watched;

  rebalance(GrantCause::kAgentStart);
  look_for_gpus(GrantCause::kAgentStart);
  if (Status linked = start_link(); !linked) return linked;
  metrics_file_.use(config_.metrics_file);
  write_metrics();
  log_info("ready on {} (policy {}, {} CPUs)", config_.socket_path,
           policy_name(config_.policy), machine_.topology.cpus.size());
  return Done{};
}

Status Agent::start_timers() {
  Result<int> timer = machine_.loop.add_timer(0, [this] { scan_marked(); });
  if (!timer) return std::move(timer).error();
  scan_timer_ = *timer;
  timer = machine_.loop.add_timer(0, [this] { on_tick_timer(); });
  if (!timer) return std::move(timer).error();
  tick_timer_ = *timer;
  timer = machine_.loop.add_timer(config_.sample_period_ms,
                                  [this] { on_sample_timer(); });
  if (!timer) return std::move(timer).error();
  sample_timer_ = *timer;
  timer = machine_.loop.add_timer(kBeat_ms, [this] { on_beat_timer(); });
  if (!timer) return std::move(timer).error();
  timer = machine_.loop.add_timer(kRefresh_ms, [this] { refresh_groups(); });
  if (!timer) return std::move(timer).error();
  timer = machine_.loop.add_timer(kCacheSweep_ms, [this] { sweep_caches(); });
  if (!timer) return std::move(timer).error();
  timer = machine_.loop.add_timer(MetricsFile::kPeriod_ms,
                                  [this] { write_metrics(); });
  if (!timer) return std::move(timer).error();
  return Done{};
}

void Agent::sweep_caches() {
  const auto now_s = static_cast<uint64_t>(unix_s());
  const uint64_t removed = cache_sweep_.run(config_.cache_keep_s, now_s);
  if (removed > 0) log_info("removed {} caches that no job uses", removed);
}

// Uses the kernel's process events; polls if there are none.
Status Agent::watch_processes() {
  Status events = subscribe_events();
  if (events) return events;
  log_warning("{}: new loaders are looked for every {} ms instead",
              events.error().message, kPoll_ms);
  auto poll = machine_.loop.add_timer(kPoll_ms, [this] {
    for (auto& [id, job] : registry_.jobs()) mark_for_scan(id);
  });
  if (!poll) return std::move(poll).error();
  return Done{};
}

void Agent::stop() {
  if (!server_) return;  // the groups may be another penstockd's
  server_.reset();
  save_state();
  for (auto& [id, job] : registry_.jobs()) {
    for (Unit* unit : job.units()) sampler_.account(*unit, job.totals);
    (void)enforcer_.release(job, finder());  // last_sweep() tries again
    for (auto& [pid, task] : job.tasks) put_together(task);
  }
  const Status swept = last_sweep(machine_.backend, finder());
  if (!swept) {
    log_error("not all groups could be removed: {}; it is tried again at start",
              swept.error().message);
  }
  metrics_file_.use("");
  children_.end_all();  // a child may be writing the metrics file
}

void Agent::reload(Config config) {
  if (config.socket_path != config_.socket_path ||
      config.state_dir != config_.state_dir ||
      config.cgroup_root != config_.cgroup_root ||
      config.cgroup_name != config_.cgroup_name ||
      config.away_yields != config_.away_yields) {
    log_warning(
        "SocketPath, StateDir, CgroupRoot, CgroupName and AwayYields "
        "change only with a restart");
    config.socket_path = config_.socket_path;
    config.state_dir = config_.state_dir;
    config.cgroup_root = config_.cgroup_root;
    config.cgroup_name = config_.cgroup_name;
    config.away_yields = config_.away_yields;
  }
  if (config.controllers != config_.controllers ||
      config.controller_timeout_s != config_.controller_timeout_s ||
      config.munge_socket != config_.munge_socket) {
    log_warning(
        "Controller, ControllerTimeout and MungeSocket change only with a "
        "restart");
    config.controllers = config_.controllers;
    config.controller_timeout_s = config_.controller_timeout_s;
    config.munge_socket = config_.munge_socket;
  }
  config_ = std::move(config);
  set_log_level(log_level_named(config_.log_level));
  look_up_paths();
  if (server_) server_->set_limits({config_.max_weight});
  for (auto& [id, job] : registry_.jobs()) {
    for (auto& [pid, task] : job.tasks) attach_io(job, task);
  }
  (void)machine_.loop.set_period(sample_timer_, config_.sample_period_ms);
  rebalance(GrantCause::kReload);
  look_for_gpus(GrantCause::kReload);
  metrics_file_.use(config_.metrics_file);
  write_metrics();
  log_info("configuration reloaded");
}

// Asynchronous. Until the result, a pool keeps the device of its path.
void Agent::look_up_paths() {
  std::vector<std::string> paths;
  std::map<std::string, std::string> known;
  for (const PoolConfig& pool : config_.pools) {
    known[pool.path] = device_of_path_[pool.path];
    paths.push_back(pool.path);
  }
  device_of_path_ = std::move(known);
  name_pool_devices();
  paths.push_back(config_.report_dir);
  find_path_devices(children_, paths,
                    [this, paths](Result<std::vector<PathDevice>> found) {
                      if (found) return take_paths(paths, *found);
                      log_warning("{}: bandwidth of pools may not be enforced",
                                  found.error().message);
                    });
}

void Agent::take_paths(const std::vector<std::string>& paths,
                       const std::vector<PathDevice>& found) {
  for (size_t i = 0; i + 1 < paths.size(); ++i) {
    const auto known = device_of_path_.find(paths[i]);
    if (known == device_of_path_.end()) continue;  // a reload removed it
    known->second = found[i].device;
    if (found[i].error != 0) {
      log_warning("Pool Path={}: {}; its bandwidth is not enforced", paths[i],
                  std::strerror(found[i].error));
    } else if (found[i].device.empty()) {
      log_warning(
          "Pool Path={}: not on a block device; the kernel cannot limit it, "
          "libpenstock's loaders can",
          paths[i]);
    }
  }
  if (found.back().error != 0) {
    log_warning("ReportDir={}: {}; no reports are written until it exists",
                paths.back(), std::strerror(found.back().error));
  }
  name_pool_devices();
  for (auto& [id, job] : registry_.jobs()) {
    for (auto& [pid, task] : job.tasks) attach_io(job, task);
  }
  rebalance(GrantCause::kReload);
}

void Agent::name_pool_devices() {
  pool_devices_.clear();
  for (const PoolConfig& pool : config_.pools) {
    pool_devices_.push_back(device_of_path_[pool.path]);
  }
}

bool Agent::manages(const penstock_wire_options& options) const {
  if (options.mode == PENSTOCK_MODE_OFF) return false;
  return config_.default_auto || asks_for_management(options);
}

void Agent::on_sample_timer() {
  const uint64_t now_ns = monotonic_ns();
  const double period_s = double(now_ns - sampled_ns_) * kNs;
  const bool late = period_s > 2e-3 * double(config_.sample_period_ms);
  sampled_ns_ = now_ns;
  look_at_gpu_use(now_ns);
  for (auto& [id, job] : registry_.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    const int pool = pool_of(job);
    job.note_stopped(is_stopped(machine_.proc, machine_.backend, job));
    sampler_.sample(job, pool < 0 ? "" : pool_devices_[size_t(pool)], period_s,
                    now_ns);
    for (const auto& [pid, task] : job.tasks) {
      if (task.look_again) mark_for_scan(id, pid);
    }
    if (late) ++job.quality.gaps;
  }
  count_sharers(registry_.jobs());
  correct_predictions(registry_.jobs());
  end_lapsed_limits(now_ns);
  credit_lenders(lender_of_cpu_, registry_.jobs());
  children_.expire(now_ns);
  tidy(now_ns);
  if (double(now_ns - scanned_all_ns_) * kNs > kRescan_s) {
    scanned_all_ns_ = now_ns;
    for (auto& [id, job] : registry_.jobs()) {
      if (job.managed) mark_for_scan(id);
    }
  }
  fill_in_rates();
  watch_lenders(now_ns);
  const bool may_plan = double(now_ns - planned_ns_) * 1e-6 >=
                        double(config_.min_solve_interval_ms);
  if (may_plan && limits_changed_) {
    limits_changed_ = false;
    rebalance(GrantCause::kAnalysis);
  }
  if (may_plan && has_changed_enough()) rebalance(GrantCause::kMeasuredChange);
  if (may_plan && idle_cpus() != planned_idle_) {
    rebalance(GrantCause::kIdleCpus);
  }
}

// Separate from sampling, because the admin chooses the sampling period.
void Agent::refresh_groups() {
  look_for_clean_up();
  if (is_off() && not_home_ > 0) not_home_ = release_all();
  Status done = machine_.backend.refresh();
  if (done || refresh_failed_) {
    refresh_failed_ = !done;
    return;
  }
  refresh_failed_ = true;
  log_warning("putting back what was overwritten: {}", done.error().message);
}

// Tells the guardian whether it must clean up if penstockd hangs: loader
// threads may be away, or a job has a measured limit.
void Agent::beat() {
  const bool is_limited = std::any_of(
      registry_.jobs().begin(), registry_.jobs().end(), [](const auto& entry) {
        return entry.second.measured_limit.has_value();
      });
  machine_.heartbeat(ticking_ || is_limited);
}

void Agent::on_beat_timer() {
  beat();
  look_for_clean_up();
}

// Several timers call this; the first one after a hang recovers.
void Agent::look_for_clean_up() {
  const uint32_t clean_ups = machine_.clean_ups();
  if (std::exchange(clean_ups_, clean_ups) != clean_ups) recover();
}

// The guardian took penstockd for hung, brought all threads home and removed
// the groups. Sets everything up again.
void Agent::recover() {
  log_warning("stood still for {} s or more: starting anew",
              Guardian::kPatience_ms / 1000);
  for (auto& [id, job] : registry_.jobs()) {
    if (!enforcer_.release(job, finder())) leftovers_ = true;
    job.measured_limit.reset();  // the measuring job repeats its request
  }
  take_up_again();
  rebalance(GrantCause::kAgentStart);
}

void Agent::adjust_tick() {
  const bool wanted = std::any_of(
      registry_.jobs().begin(), registry_.jobs().end(), [](auto& entry) {
        Job& job = entry.second;
        const auto units = job.units();
        return !job.grant.away_cpus.empty() ||
               std::any_of(units.begin(), units.end(),
                           [](const Unit* unit) { return unit->away; });
      });
  if (wanted == ticking_) return;
  ticking_ = wanted;
  beat();
  ticked_ns_ = monotonic_ns();
  (void)machine_.loop.set_period(tick_timer_, wanted ? kTick_ms : 0);
}

void Agent::on_tick_timer() {
  const uint64_t now_ns = monotonic_ns();
  const double tick_ms = double(now_ns - ticked_ns_) * 1e-6;
  ticked_ns_ = now_ns;
  look_for_clean_up();
  Status idle = machine_.cpu_idle.refresh();
  if (!idle) log_warning("{}", idle.error().message);
  uint64_t send_left_ns = kSend_ns;
  for (auto& [id, job] : registry_.jobs()) {
    const Enforcer::Tick done = enforcer_.tick(
        job, double(now_ns) * 1e-6, tick_ms, machine_.cpu_idle, send_left_ns);
    if (done.lent_again) record_lent_again(job, {unix_s(), now_ns});
    if (done.recalled) record_recall(job, {unix_s(), now_ns});
  }
}

JobReport Agent::report_of(const Job& job, bool running) const {
  ReportContext context;
  context.config = &config_;
  context.node = machine_.node;
  context.now_unix_s = unix_s();
  context.now_ns = monotonic_ns();
  context.pool = pool_of(job);
  context.process_events =
      events_ ? ProcessEvents::kConnector : ProcessEvents::kPolling;
  return build_report(job, context, running);
}

// Forks, because the report is synced, and a slow disk must not delay recalls.
void Agent::write_report(const Job& job) {
  const auto format =
      static_cast<penstock_report_format>(job.options.report_format);
  JobReport report = report_of(job, false);
  report.timeline = job.course.points();
  report.what_if = what_if_of(job, report);
  const pid_t child = ::fork();
  if (child > 0) return;
  // The child may hang on a slow disk, and must not hold the lock or the
  // guardian's pipe meanwhile.
  if (child == 0) ::close_range(3, ~0U, 0);
  UniqueFd directory(
      ::open(config_.report_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Status status =
      directory ? write_report_file(directory.get(), report, job.uid, format)
                : Status(system_error(errno, config_.report_dir));
  if (!status) {
    log_error("job {}: report: {}", job.id, status.error().message);
  }
  if (child == 0) ::_exit(0);
}

NodeStatus Agent::node_status(const Peer& peer) const {
  NodeStatus status;
  status.node = machine_.node;
  status.version = kVersion;
  status.policy = policy_name(config_.policy);
  status.time_unix_s = unix_s();
  status.uptime_s = double(monotonic_ns() - started_ns_) * kNs;
  status.agent_cpu_s = own_cpu_s();
  status.cores = double(machine_.topology.cpus.size());
  status.off_since_unix_s = off_since_unix_s_;
  status.rebalance = figures_of(rebalance_latency_);
  status.recall = figures_of(enforcer_.recall_latency());
  status.launch = figures_of(launch_latency_);
  status.grant = figures_of(grant_latency_);
  for (const PoolConfig& pool : config_.pools) {
    status.pools.push_back(
        {pool.name, double(pool.bandwidth_bytes_per_s), std::nullopt, 0});
  }
  for (const auto& [id, job] : registry_.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    if (const int pool = pool_of(job); pool >= 0) {
      PoolStatus& use = status.pools[size_t(pool)];
      ++use.jobs;
      if (job.knows_bytes) {
        use.used_bytes_per_s =
            use.used_bytes_per_s.value_or(0) + job.read_bytes_per_s;
      }
    }
    if (peer.uid != 0 && peer.uid != job.uid) continue;
    if (status.jobs.size() >= kMaxStatusJobs) break;
    JobReport report = report_of(job, true);
    report.changes.clear();
    status.jobs.push_back(std::move(report));
  }
  return status;
}

}  // namespace penstock
