// The link to the cluster's controllers. Nothing here blocks: the link's own
// thread does the I/O. Without controllers the node plans alone.
#include "common/clock.h"
#include "common/log.h"
#include "link/term_file.h"
#include "node_agent/agent.h"
#include "node_agent/job_totals.h"

namespace penstock {
namespace {

constexpr uint64_t kLinkTick_ms = 500;
// Heartbeats per time-out; two may be lost.
constexpr double kHeartbeats = 3;
// Interval between searches for grown runs.
constexpr double kTotals_s = 15;

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

Status Agent::start_link() {
  if (config_.controllers.empty()) return Done{};
  Link::Settings settings;
  settings.node = machine_.node;
  for (const ControllerAddress& address : config_.controllers) {
    settings.connect.push_back("tcp://" + address.to_string());
  }
  settings.make_credentials = [socket = config_.munge_socket] {
    return std::make_unique<MungeCredentials>(socket);
  };
  Result<std::unique_ptr<Link>> link = Link::start(std::move(settings));
  if (!link) {
    log_error("{}: the node is solved alone", link.error().message);
    return Done{};
  }
  link_ = *std::move(link);
  Result<uint64_t> term = load_term(machine_.state_dir_fd);
  if (!term) log_warning("StateDir: {}", term.error().message);
  cluster_.emplace(double(config_.controller_timeout_s), now_s(),
                   term.value_or(0));
  Status watched =
      machine_.loop.watch(link_->ready_fd(), [this] { on_link(); });
  if (!watched) return watched;
  Result<int> timer =
      machine_.loop.add_timer(kLinkTick_ms, [this] { on_link_timer(); });
  if (!timer) return std::move(timer).error();
  return Done{};
}

// Names of pools that other nodes share; "" for other pools.
std::vector<std::string> Agent::shared_pools() const {
  std::vector<std::string> names;
  for (const PoolConfig& pool : config_.pools) {
    names.push_back(pool.shared ? pool.name : "");
  }
  return names;
}

void Agent::tell_controllers(const AgentMessage& message) {
  // If the queue is full, the controllers notice the missing message.
  (void)link_->send_all(body_of(message));
}

void Agent::say_hello() {
  NodeHello hello;
  hello.cpus = double(machine_.topology.cpus.size());
  hello.loader_cores = cluster_report_.loader_cores();
  hello.term = cluster_->term();
  hello.silence_s = cluster_->silence_s(now_s());
  hello.parts = cluster_report_.parts();
  tell_controllers(hello);
}

void Agent::say_heartbeat() {
  said_heartbeat_s_ = now_s();
  tell_controllers(Heartbeat{cluster_report_.loader_cores(), cluster_->term(),
                             cluster_->is_in_force() ? cluster_->version() : 0,
                             cluster_->silence_s(said_heartbeat_s_)});
}

JobLabel Agent::label_of(const Job& job) const {
  JobLabel label{.name = job.name, .started_unix_s = job.started_unix_s};
  const bool is_named = !fixed_text(job.options.model).empty();
  if (is_named && job.profile) label.model = job.profile->name;
  label.batch = job.options.batch;
  label.trainer_reserve_cores = trainer_reserve_cores(job);
  const PageSums sums = job.pages();
  if (sums.active_s > 0) label.mean_rate = sums.samples / sums.active_s;
  label.grant_changes = job.changes.size() + job.changes_dropped;
  label.run = run_totals(report_of(job, true), job);
  return label;
}

// Reports the input of the plan in force.
void Agent::say_changes(const PlanInput& input) {
  if (!link_) return;
  std::map<uint64_t, JobLabel> labels;
  for (const PlanJob& entry : input.jobs) {
    labels[entry.id] = label_of(*registry_.find_job(JobId(entry.id)));
  }
  for (const JobPart& part : cluster_report_.parts()) {
    const Job* job = registry_.find_job(JobId(part.id));
    if (job != nullptr) cluster_report_.note(part.id, label_of(*job));
  }
  for (AgentMessage& message : cluster_report_.update(
           loader_cores(input), job_parts(input, shared_pools(), labels))) {
    if (std::holds_alternative<Heartbeat>(message)) {
      say_heartbeat();
    } else {
      tell_controllers(message);
    }
  }
}

// Reports a long run's figures before it ends.
void Agent::say_totals() {
  said_totals_s_ = now_s();
  std::map<uint64_t, JobLabel> labels;
  for (const JobPart& part : cluster_report_.parts()) {
    const Job* job = registry_.find_job(JobId(part.id));
    if (job != nullptr) labels[part.id] = label_of(*job);
  }
  for (const AgentMessage& message : cluster_report_.say_grown(labels)) {
    tell_controllers(message);
  }
}

void Agent::on_link() {
  const std::vector<Arrived> all = link_->take();
  for (const std::string& text : link_->take_complaints()) {
    log_warning("controllers: {}", text);
  }
  bool hello = false;
  for (const Arrived& arrived : all) {
    if (arrived.is_connection) {
      log_info("connected to the controller at {}",
               config_.controllers[arrived.controller].to_string());
      hello = true;
      continue;
    }
    Result<ControllerMessage> message =
        read_controller_message(arrived.envelope.type, arrived.envelope.body);
    if (!message) {
      log_warning("controllers: {}", message.error().message);
    } else if (auto* grant = std::get_if<NodeGrant>(&*message)) {
      on_grant(*grant);
    } else if (auto* beat = std::get_if<Beat>(&*message)) {
      const auto refused = cluster_->take(*beat, now_s());
      if (refused) tell_controllers(*refused);
    } else {
      hello = true;
    }
  }
  if (hello) say_hello();
}

void Agent::on_grant(const NodeGrant& grant) {
  const ClusterGrant::Taken taken = cluster_->take(grant, now_s());
  if (taken.refused) {
    log_warning(
        "a grant of term {}, version {} is refused: the newest is {}, {}",
        grant.term, grant.version, cluster_->term(), cluster_->version());
    tell_controllers(*taken.refused);
  }
  if (!taken.is_new) return;
  if (taken.is_new_term) {
    Status saved = save_term(machine_.state_dir_fd, grant.term);
    if (!saved) log_warning("StateDir: {}", saved.error().message);
  }
  for (const JobGrant& job : grant.jobs) {
    if (job.earlier) take_earlier(JobId(job.id), *job.earlier);
  }
  rebalance(GrantCause::kController);
  const double took_s = unix_s() - grant.decided_unix_s;
  log_debug(
      "grant of term {}, version {}: in force {:.1f} ms after it was made",
      grant.term, grant.version, took_s * 1e3);
  if (took_s >= 0) grant_latency_.add_ms(took_s * 1e3);
}

// A profile that the job names takes precedence over its earlier runs.
void Agent::take_earlier(JobId id, const EarlierFigures& earlier) {
  Job* job = registry_.find_job(id);
  const bool is_wanted = job != nullptr && job->managed && !job->profile &&
                         fixed_text(job->options.model).empty();
  if (!is_wanted) return;
  Profile profile;
  profile.name = "earlier runs";
  profile.accelerator_s_per_sample = 1 / earlier.ceiling;
  profile.loader_cpu_s_per_sample = earlier.loader_cpu_s_per_sample;
  profile.trainer_cpu_s_per_sample = earlier.trainer_cpu_s_per_sample;
  profile.bytes_per_sample = earlier.storage_bytes_per_sample;
  profile.relative_error = earlier.relative_error;
  take_profile(*job, profile);
  if (job->prior) job->prior->basis = "earlier runs";
}

void Agent::on_link_timer() {
  if (cluster_->expire(now_s())) {
    log_warning(
        "no controller has been heard for {:.0f} s: the node is solved "
        "alone",
        cluster_->silence_s(now_s()));
    rebalance(GrantCause::kController);
    say_heartbeat();
  }
  const double period_s = double(config_.controller_timeout_s) / kHeartbeats;
  if (now_s() - said_heartbeat_s_ >= period_s) say_heartbeat();
  if (now_s() - said_totals_s_ >= kTotals_s) say_totals();
}

}  // namespace penstock
