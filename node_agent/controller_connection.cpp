#include "node_agent/controller_connection.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/wire_text.h"
#include "link/term_file.h"
#include "node_agent/job_totals.h"
#include "report/packed.h"

namespace penstock {
namespace {

static_assert(kMaxPackedText == 2 * kMaxPackedBytes);  // in hexadecimal

constexpr uint64_t kLinkTick_ms = 500;
// Report parts sent since a controller was heard.
constexpr size_t kMostUnheard = 64;
// Heartbeats per time-out; two may be lost.
constexpr double kHeartbeats = 3;
// Interval between searches for grown runs.
constexpr double kTotals_s = 15;

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

Status ControllerConnection::start() {
  if (node_.config.controllers.empty()) return Done{};
  Link::Settings settings;
  settings.node = node_.machine.node;
  for (const ControllerAddress& address : node_.config.controllers) {
    settings.connect.push_back("tcp://" + address.to_string());
  }
  settings.trust = trust_in_controllers(node_.config);
  if (const std::string lack = settings.trust.lack(); !lack.empty()) {
    log_info("{}", lack);
  }
  settings.make_credentials = [socket = node_.config.munge_socket] {
    return std::make_unique<MungeCredentials>(socket);
  };
  Result<std::unique_ptr<Link>> link = Link::start(std::move(settings));
  if (!link) {
    log_error("{}: the node is solved alone", link.error().message);
    return Done{};
  }
  link_ = *std::move(link);
  Result<uint64_t> term = load_term(node_.machine.state_dir_fd);
  if (!term) log_warning("StateDir: {}", term.error().message);
  grant_.emplace(double(node_.config.controller_timeout_s), now_s(),
                 term.value_or(0));
  reports_.emplace(node_.machine.state_dir_fd, node_.config.controllers.size());
  if (Status loaded = reports_->load(); !loaded) {
    log_warning("reports for controllers: {}", loaded.error().message);
  }
  Status watched =
      node_.machine.loop.watch(link_->ready_fd(), [this] { on_link(); });
  if (!watched) return watched;
  Result<int> timer =
      node_.machine.loop.add_timer(kLinkTick_ms, [this] { on_timer(); });
  if (!timer) return std::move(timer).error();
  return Done{};
}

// Names of pools that other nodes share; "" for other pools.
std::vector<std::string> ControllerConnection::shared_pools() const {
  std::vector<std::string> names;
  for (const PoolConfig& pool : node_.config.pools) {
    names.push_back(pool.shared ? pool.name : "");
  }
  return names;
}

void ControllerConnection::send(const AgentMessage& message) {
  // If the queue is full, the controllers notice the missing message.
  (void)link_->send_all(body_of(message));
}

void ControllerConnection::send_hello() {
  NodeHello hello;
  hello.cpus = double(node_.machine.topology.cpus.size());
  hello.loader_cores = report_.loader_cores();
  hello.term = grant_->term();
  hello.silence_s = grant_->silence_s(now_s());
  hello.parts = report_.parts();
  send(hello);
}

void ControllerConnection::send_heartbeat() {
  sent_heartbeat_s_ = now_s();
  send(Heartbeat{report_.loader_cores(), grant_->term(),
                 grant_->is_in_force() ? grant_->version() : 0,
                 grant_->silence_s(sent_heartbeat_s_)});
}

JobLabel ControllerConnection::label_of(const Job& job) const {
  JobLabel label{.name = job.name, .started_unix_s = job.started_unix_s};
  const bool is_named = !fixed_text(job.options.model).empty();
  if (is_named && job.costs.profile) label.model = job.costs.profile->name;
  label.batch = job.options.batch;
  label.trainer_reserve_cores = trainer_reserve_cores(job);
  const PageSums sums = job.pages();
  if (sums.active_s > 0) label.mean_rate = sums.counted.samples / sums.active_s;
  label.grant_changes = job.changes.list.size() + job.changes.dropped;
  label.run = run_totals(reporter_.report_of(job, true), job);
  return label;
}

void ControllerConnection::apply_grant_to(PlanInput& input) const {
  if (grant_) apply_grant(*grant_, shared_pools(), input);
}

void ControllerConnection::report(const PlanInput& input) {
  if (!link_) return;
  std::map<uint64_t, JobLabel> labels;
  for (const PlanJob& entry : input.jobs) {
    labels[entry.id] = label_of(*node_.registry.find_job(JobId(entry.id)));
  }
  for (const JobPart& part : report_.parts()) {
    const Job* job = node_.registry.find_job(JobId(part.id));
    if (job != nullptr) report_.note(part.id, label_of(*job));
  }
  for (AgentMessage& message : report_.update(
           loader_cores(input), job_parts(input, shared_pools(), labels))) {
    if (std::holds_alternative<Heartbeat>(message)) {
      send_heartbeat();
    } else {
      send(message);
    }
  }
}

// Reports a long run's figures before it ends.
void ControllerConnection::send_totals() {
  sent_totals_s_ = now_s();
  std::map<uint64_t, JobLabel> labels;
  for (const JobPart& part : report_.parts()) {
    const Job* job = node_.registry.find_job(JobId(part.id));
    if (job != nullptr) labels[part.id] = label_of(*job);
  }
  for (const AgentMessage& message : report_.say_grown(labels)) {
    send(message);
  }
}

void ControllerConnection::add_report(const ReportedJob& job,
                                      const std::string& packed) {
  if (!reports_) return;
  const ReportPart part{job.report.job_id, uint32_t(job.uid),
                        job.report.start_unix_s, job.report.updated_unix_s,
                        packed};
  // The next one replaces it; only the last one must arrive.
  if (job.report.running) {
    if (reports_sent_unheard_ >= kMostUnheard) return;
    reports_sent_unheard_ += node_.config.controllers.size();
    return send(part);
  }
  if (Status added = reports_->add(part); !added) {
    log_warning("job {}: its report is sent once at most: {}", part.id,
                added.error().message);
    send(part);
  }
  send_reports();
}

// While nothing is heard of controllers, little is sent: it would fill the
// link's queue.
void ControllerConnection::send_reports() {
  if (reports_sent_unheard_ >= kMostUnheard) return;
  for (const PartSpool::Due& due : reports_->due(now_s())) {
    const TypedBody body = body_of(AgentMessage(due.part));
    for (size_t controller : due.controllers) {
      ++reports_sent_unheard_;
      (void)link_->send_to(controller, body);
    }
  }
  const uint64_t lost = reports_->lost();
  if (std::exchange(reports_lost_, lost) == lost) return;
  log_warning(
      "{} reports of ended jobs never reached a controller: more than {} "
      "waited, or their files in StateDir are damaged",
      lost, PartQueue::kMaxParts);
}

void ControllerConnection::on_link() {
  const std::vector<Arrived> all = link_->take();
  if (!all.empty()) reports_sent_unheard_ = 0;
  for (const std::string& text : link_->take_complaints()) {
    log_warning("controllers: {}", text);
  }
  bool hello = false;
  for (const Arrived& arrived : all) {
    if (arrived.is_connection) {
      log_info("connected to the controller at {}",
               node_.config.controllers[arrived.controller].to_string());
      hello = true;
      reports_->hurry(arrived.controller);
      continue;
    }
    Result<ControllerMessage> message =
        read_controller_message(arrived.envelope.type, arrived.envelope.body);
    if (!message) {
      log_warning("controllers: {}", message.error().message);
    } else if (auto* grant = std::get_if<NodeGrant>(&*message)) {
      on_grant(*grant);
    } else if (auto* beat = std::get_if<Beat>(&*message)) {
      const auto refused = grant_->take(*beat, now_s());
      if (refused) send(*refused);
    } else if (auto* kept = std::get_if<ReportKept>(&*message)) {
      reports_->kept(*kept, arrived.controller);
    } else {
      hello = true;
    }
  }
  if (hello) send_hello();
}

void ControllerConnection::on_grant(const NodeGrant& grant) {
  const ClusterGrant::Taken taken = grant_->take(grant, now_s());
  if (taken.refused) {
    log_warning(
        "a grant of term {}, version {} is refused: the newest is {}, {}",
        grant.term, grant.version, grant_->term(), grant_->version());
    send(*taken.refused);
  }
  if (!taken.is_new) return;
  if (taken.is_new_term) {
    Status saved = save_term(node_.machine.state_dir_fd, grant.term);
    if (!saved) log_warning("StateDir: {}", saved.error().message);
  }
  for (const JobGrant& job : grant.jobs) {
    if (job.earlier) take_earlier(JobId(job.id), *job.earlier);
  }
  replan_(GrantCause::kController);
  const double took_s = unix_s() - grant.decided_unix_s;
  log_debug(
      "grant of term {}, version {}: in force {:.1f} ms after it was made",
      grant.term, grant.version, took_s * 1e3);
  if (took_s >= 0) node_.grant_latency.add_ms(took_s * 1e3);
}

// A profile that the job names takes precedence over its earlier runs.
void ControllerConnection::take_earlier(JobId id,
                                        const EarlierFigures& earlier) {
  Job* job = node_.registry.find_job(id);
  const bool is_wanted = job != nullptr && job->managed &&
                         !job->costs.profile &&
                         fixed_text(job->options.model).empty();
  if (!is_wanted) return;
  Profile profile;
  profile.name = "earlier runs";
  profile.accelerator_s_per_sample = 1 / earlier.ceiling;
  profile.loader_cpu_s_per_sample = earlier.loader_cpu_s_per_sample;
  profile.trainer_cpu_s_per_sample = earlier.trainer_cpu_s_per_sample;
  profile.bytes_per_sample = earlier.storage_bytes_per_sample;
  profile.relative_error = earlier.relative_error;
  profiles_.take(*job, profile);
  if (job->costs.prior) job->costs.prior->basis = "earlier runs";
}

void ControllerConnection::on_timer() {
  if (grant_->expire(now_s())) {
    log_warning(
        "no controller has been heard for {:.0f} s: the node is solved "
        "alone",
        grant_->silence_s(now_s()));
    replan_(GrantCause::kController);
    send_heartbeat();
  }
  const double period_s =
      double(node_.config.controller_timeout_s) / kHeartbeats;
  if (now_s() - sent_heartbeat_s_ >= period_s) send_heartbeat();
  if (now_s() - sent_totals_s_ >= kTotals_s) send_totals();
  send_reports();
}

}  // namespace penstock
