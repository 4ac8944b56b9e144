#include "node_agent/agent.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/correction.h"
#include "node_agent/last_sweep.h"
#include "node_agent/report_dir.h"
#include "node_agent/sharers.h"
#include "node_agent/stopped.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
constexpr uint64_t kBeat_ms = 1000;
// Values overwritten by Slurm or systemd must be restored within a second.
constexpr uint64_t kRefresh_ms = 500;
// With process events, a rescan only makes up for lost ones.
constexpr double kRescan_s = 10;
constexpr double kEstimate_s = 5;
// A report of a running job, for those who ask a controller: the first one soon
// after its start, and as often as a person looks.
constexpr uint64_t kFirstHandIn_ns = 10'000'000'000;
constexpr uint64_t kHandIn_ns = 60'000'000'000;
constexpr uint64_t kCacheSweep_ms = 10000;
// Less than the guardian's patience.
constexpr uint64_t kLastWrites_ms = 2000;

// Restores the old values of what changes only with a restart.
void keep_fixed(const Config& old, Config& config) {
  if (config.socket_path != old.socket_path ||
      config.state_dir != old.state_dir ||
      config.cgroup_root != old.cgroup_root ||
      config.cgroup_name != old.cgroup_name ||
      config.agent_user != old.agent_user ||
      config.away_yields != old.away_yields ||
      config.always_moves != old.always_moves) {
    log_warning(
        "SocketPath, StateDir, CgroupRoot, CgroupName, AgentUser, "
        "AwayYields and MoveProcesses change only with a restart");
    config.socket_path = old.socket_path;
    config.state_dir = old.state_dir;
    config.cgroup_root = old.cgroup_root;
    config.cgroup_name = old.cgroup_name;
    config.agent_user = old.agent_user;
    config.away_yields = old.away_yields;
    config.always_moves = old.always_moves;
  }
  if (config.controllers != old.controllers ||
      config.controller_timeout_s != old.controller_timeout_s ||
      config.munge_socket != old.munge_socket) {
    log_warning(
        "Controller, ControllerTimeout and MungeSocket change only with a "
        "restart");
    config.controllers = old.controllers;
    config.controller_timeout_s = old.controller_timeout_s;
    config.munge_socket = old.munge_socket;
  }
}

}  // namespace

Agent::Agent(Machine machine, Config config)
    : node_(std::move(machine), std::move(config)),
      children_(node_.machine.loop),
      metrics_file_(
          children_,
          {[this](const std::string& path, const std::string& text, int out) {
             return node_.machine.broker.write_metrics(path, text, out);
           },
           [this](const std::string& path, int out) {
             return node_.machine.broker.remove_metrics(path, out);
           }}),
      reports_(children_, {}),
      packer_(children_,
              {.what = "packing a report",
               .run = pack_reported,
               .max_bytes = kMaxPackedText + 1,
               .done =
                   [this](const ReportedJob& job, const std::string& packed) {
                     controllers_.add_report(job, packed);
                   },
               .remedy = "the node is overloaded"}),
      profiles_(node_, children_,
                [this](GrantCause cause) { rebalancer_.request(cause); }),
      pools_(node_, children_, replan()),
      gpus_(node_, children_, replan()),
      system_cpus_(node_, children_),
      scanner_(node_.machine.proc, node_.machine.backend),
      sampler_(node_.machine.backend, node_.machine.proc),
      reads_(node_, children_),
      launch_doctor_(node_, gpus_, reads_),
      enforcer_(node_.machine.backend, node_.machine.proc, node_.machine.sched,
                sampler_, node_.machine.topology.core_of_cpu),
      separation_(node_),
      reporter_(node_, enforcer_, reports_, packer_),
      control_loop_(node_, enforcer_),
      controllers_(node_, reporter_, profiles_, replan()),
      rebalancer_(node_, enforcer_, control_loop_, pools_, gpus_, controllers_),
      processes_(node_, children_, sampler_, scanner_, pools_, separation_,
                 control_loop_, rebalancer_),
      lifecycle_(node_, {sampler_, launch_doctor_, enforcer_, reporter_, pools_,
                         profiles_, separation_, rebalancer_, processes_}),
      limits_(node_, scanner_, pools_, rebalancer_),
      off_switch_(node_, enforcer_, separation_, control_loop_, rebalancer_,
                  lifecycle_),
      requests_(node_, enforcer_, reporter_, rebalancer_, processes_,
                lifecycle_, limits_, off_switch_) {}

Agent::~Agent() {
  processes_.stop();
  children_.end_all();  // their callbacks use the other parts
}

Replan Agent::replan() {
  // Neither before start() nor in stop(), where children still call back.
  return [this](GrantCause cause) {
    if (server_) rebalancer_.rebalance(cause);
  };
}

Status Agent::start() {
  sampled_ns_ = monotonic_ns();
  pools_.look_up();
  look_at_report_dir();

  Result<std::vector<SavedTask>> saved = load_tasks(node_.machine.state_dir_fd);
  if (!saved) {
    log_warning("{}: running jobs are not adopted", saved.error().message);
    saved = std::vector<SavedTask>();
  }

  node_.machine.loop.at_turn_end([this] { on_turn_end(); });
  if (Status timers = start_timers(); !timers) return timers;
  if (Status listening = listen(); !listening) return listening;
  off_switch_.look_for_mark();
  lifecycle_.adopt(*saved);
  if (Status watched = processes_.watch(); !watched) return watched;

  rebalancer_.rebalance(GrantCause::kAgentStart);
  gpus_.look_for_gpus(GrantCause::kAgentStart);
  system_cpus_.look(monotonic_ns());
  if (Status linked = controllers_.start(); !linked) return linked;
  metrics_file_.use(node_.config.metrics_file);
  write_metrics();
  log_info("ready on {} (policy {}, {} CPUs)", node_.config.socket_path,
           policy_name(node_.config.policy),
           node_.machine.topology.cpus.size());
  return Done{};
}

void Agent::look_at_report_dir() {
  check_report_dir(
      children_, node_.config.report_dir, [](const std::string& fault) {
        if (fault.empty()) return;
        log_warning("{}; until then no reports are written", fault);
      });
}

Status Agent::start_timers() {
  if (Status started = processes_.start(); !started) return started;
  Status started = control_loop_.start([this] { look_for_clean_up(); });
  if (!started) return started;
  EventLoop& loop = node_.machine.loop;
  Result<int> timer = loop.add_timer(node_.config.sample_period_ms,
                                     [this] { on_sample_timer(); });
  if (!timer) return std::move(timer).error();
  sample_timer_ = *timer;
  const auto beat = [this] {
    control_loop_.beat();
    look_for_clean_up();
    system_cpus_.look(monotonic_ns());
  };
  const std::pair<uint64_t, EventLoop::Callback> others[] = {
      {kBeat_ms, beat},
      {kRefresh_ms, [this] { refresh_groups(); }},
      {kCacheSweep_ms, [this] { sweep_caches(); }},
      {MetricsFile::kPeriod_ms, [this] { write_metrics(); }}};
  for (const auto& [period_ms, callback] : others) {
    timer = loop.add_timer(period_ms, callback);
    if (!timer) return std::move(timer).error();
  }
  return Done{};
}

Status Agent::listen() {
  Result<UniqueFd> socket = node_.machine.broker.listen();
  if (!socket) return std::move(socket).error();
  Result<std::unique_ptr<Server>> server =
      Server::serve(node_.machine.loop, *std::move(socket),
                    [this](const Message& message, const Peer& peer) {
                      return requests_.handle(message, peer);
                    });
  if (!server) return std::move(server).error();
  server_ = *std::move(server);
  server_->set_limits({node_.config.max_weight});
  return Done{};
}

void Agent::stop() {
  if (!server_) return;  // the groups may be another penstockd's
  server_.reset();
  node_.machine.broker.stop_listening();
  processes_.stop();
  node_.save_state();
  for (auto& [id, job] : node_.registry.jobs()) {
    for (Unit* unit : job.units()) sampler_.account(*unit, job.totals);
    (void)enforcer_.release(job, node_.finder());  // last_sweep() tries again
    for (auto& [pid, task] : job.tasks) separation_.put_together(task);
  }
  const Status swept = last_sweep(node_.machine.backend, node_.finder());
  if (!swept) {
    log_error("not all groups could be removed: {}; it is tried again at start",
              swept.error().message);
  }
  node_.machine.heartbeat(false);  // the guardian need not clean up
  metrics_file_.use("");
  // Files that a child is writing; their disk may hang.
  children_.serve(
      [this] {
        return reports_.is_idle() && packer_.is_idle() &&
               metrics_file_.is_idle();
      },
      kLastWrites_ms);
  children_.end_all();
}

void Agent::reload(Config config) {
  keep_fixed(node_.config, config);
  if (Status given = node_.machine.broker.give_directories(); !given) {
    log_warning("{}", given.error().message);
  }
  node_.config = std::move(config);
  set_log_level(log_level_named(node_.config.log_level));
  pools_.look_up();
  look_at_report_dir();
  if (server_) server_->set_limits({node_.config.max_weight});
  (void)node_.machine.loop.set_period(sample_timer_,
                                      node_.config.sample_period_ms);
  off_switch_.look_at_modes();
  pools_.attach_all();
  rebalancer_.rebalance(GrantCause::kReload);
  gpus_.look_for_gpus(GrantCause::kReload);
  system_cpus_.look_again();
  metrics_file_.use(node_.config.metrics_file);
  write_metrics();
  log_info("configuration reloaded");
}

// A burst of tasks costs one plan and one save, not one per task.
void Agent::on_turn_end() {
  lifecycle_.begin_started();
  rebalancer_.rebalance_if_requested();
  node_.save_if_changed();
}

void Agent::on_sample_timer() {
  const uint64_t now_ns = monotonic_ns();
  gpus_.look_at_use(now_ns);
  sample_jobs(now_ns);
  launch_doctor_.look(now_ns);
  count_sharers(node_.registry.jobs());
  correct_predictions(node_.registry.jobs());
  limits_.end_lapsed(now_ns);
  rebalancer_.credit_loans();
  children_.expire(now_ns);
  reports_.tend(now_ns);
  packer_.tend(now_ns);
  lifecycle_.tidy(now_ns);
  scan_all_at_times(now_ns);
  estimate_at_times(now_ns);
  hand_in_at_times(now_ns);
  rebalancer_.after_sample(now_ns);
}

void Agent::estimate_at_times(uint64_t now_ns) {
  const bool is_due = double(now_ns - estimated_ns_) * kNs >= kEstimate_s;
  if (is_due) estimated_ns_ = now_ns;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!job.observed || job.tasks.empty()) continue;
    if (is_due || !job.would_have) reporter_.estimate(job);
  }
}

// Of running jobs. A report takes milliseconds, so that one is made at once,
// the most overdue; more than 60 jobs have theirs less often.
void Agent::hand_in_at_times(uint64_t now_ns) {
  if (node_.config.controllers.empty()) return;
  Job* due = nullptr;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    if (job.hand_in_ns == 0) job.hand_in_ns = now_ns + kFirstHandIn_ns;
    const bool is_first = due == nullptr || job.hand_in_ns < due->hand_in_ns;
    if (now_ns >= job.hand_in_ns && is_first) due = &job;
  }
  if (due == nullptr) return;
  due->hand_in_ns = now_ns + kHandIn_ns;
  reporter_.hand_in(*due);
}

void Agent::sample_jobs(uint64_t now_ns) {
  const double period_s = double(now_ns - sampled_ns_) * kNs;
  const bool late = period_s > 2e-3 * double(node_.config.sample_period_ms);
  sampled_ns_ = now_ns;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    job.note_stopped(
        is_stopped(node_.machine.proc, node_.machine.backend, job));
    sampler_.sample(job, pools_.of(job), period_s, now_ns);
    for (const auto& [pid, task] : job.tasks) {
      if (task.look_again) processes_.mark_for_scan(id, pid);
    }
    if (late) ++job.quality.gaps;
  }
}

void Agent::scan_all_at_times(uint64_t now_ns) {
  if (double(now_ns - scanned_all_ns_) * kNs <= kRescan_s) return;
  scanned_all_ns_ = now_ns;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!job.managed) continue;
    if (node_.process_events == ProcessEvents::kPolling) {
      for (auto& [pid, task] : job.tasks) reread_commands(task);
    }
    processes_.mark_for_scan(id);
  }
}

// Separate from sampling, because the admin chooses the sampling period.
void Agent::refresh_groups() {
  look_for_clean_up();
  off_switch_.release_rest();
  Status done = node_.machine.backend.refresh();
  if (done || refresh_failed_) {
    refresh_failed_ = !done;
    return;
  }
  refresh_failed_ = true;
  log_warning("cannot restore the overwritten values: {}",
              done.error().message);
}

// Several timers call this; the first one after a hang recovers.
void Agent::look_for_clean_up() {
  const uint32_t clean_ups = node_.machine.clean_ups();
  if (std::exchange(clean_ups_, clean_ups) != clean_ups) lifecycle_.recover();
}

void Agent::sweep_caches() {
  const auto now_s = static_cast<uint64_t>(unix_s());
  const uint64_t removed =
      node_.machine.broker.sweep_caches(node_.config.cache_keep_s, now_s);
  if (removed > 0) log_info("removed {} caches that no job uses", removed);
}

void Agent::write_metrics() {
  if (!metrics_file_.is_used()) return;
  metrics_file_.write(to_prometheus(reporter_.metrics()));
}

}  // namespace penstock
