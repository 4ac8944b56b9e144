#include "select_ext/ctld/desk.h"

#include <algorithm>

#include "common/clock.h"
#include "common/hex.h"
#include "common/log.h"
#include "select_ext/ctld/cluster_view.h"

namespace penstock {
namespace {

// With the history's commit_every_ms (500 ms), a record is on disk within 1 s.
constexpr uint64_t kRecord_ms = 250;
// Limit of the runs loaded at start: some weeks of a large site.
constexpr size_t kMaxRunsLoaded = 50'000;
constexpr int kRunsOfPage = 1000;
constexpr double kViewAge_s = 0.1;

double now_s() { return double(monotonic_ns()) * 1e-9; }

// Clamps the figures to the bounds that agents accept.
EarlierFigures figures_of(const Profile& profile) {
  using namespace bounds;  // NOLINT
  return {
      .ceiling =
          std::clamp(1 / profile.accelerator_s_per_sample, kLeast, kMaxRate),
      .loader_cpu_s_per_sample =
          std::min(profile.loader_cpu_s_per_sample, kMaxCost_s),
      .trainer_cpu_s_per_sample =
          std::min(profile.trainer_cpu_s_per_sample, kMaxCost_s),
      .storage_bytes_per_sample = std::min(profile.bytes_per_sample, kMaxBytes),
      .relative_error = std::min(profile.relative_error, kMaxRelativeError)};
}

Error no_history() {
  return Error{Code::kUnavailable, 0,
               "the controller keeps no history; its log has the reason"};
}

}  // namespace

Desk::Desk(EventLoop& loop, ControllerService& service, const Config& config,
           std::string address)
    : loop_(loop),
      service_(service),
      config_(config),
      address_(std::move(address)),
      submit_desk_(loop, config) {}

Status Desk::start(SlurmPoller::MakeApi make_api) {
  open_history();
  load_earlier_runs();
  service_.add_listener(
      [this](const ClusterEvent& event) { on_cluster(event); });
  if (Status started = start_answers(); !started) return started;
  Result<int> timer = loop_.add_timer(kRecord_ms, [this] { record(); });
  if (!timer) return std::move(timer).error();
  if (Status started = submit_desk_.start(); !started) return started;
  if (!make_api) return Done{};
  return start_poller(std::move(make_api));
}

void Desk::open_history() {
  HistoryOptions options;
  options.path = config_.history_file;
  options.retention_days = double(config_.history_retention_days);
  options.report_retention_days = double(config_.report_retention_days);
  Result<std::unique_ptr<History>> history = History::open(
      options, [](const std::string& line) { log_warning("{}", line); });
  if (history) {
    history_ = *std::move(history);
  } else {
    log_error("HistoryFile: {}: no history is kept", history.error().message);
  }
}

void Desk::load_earlier_runs() {
  if (!history_) return;
  std::vector<JobRecord> runs;
  HistoryQuery query{.measured_only = true, .limit = kRunsOfPage};
  bool is_last = false;
  while (!is_last && runs.size() < kMaxRunsLoaded) {
    Result<std::vector<HistoryRow>> rows = history_->find(query);
    if (!rows) {
      log_warning("HistoryFile: {}: {} earlier runs are known",
                  rows.error().message, runs.size());
      break;
    }
    is_last = rows->size() < size_t(kRunsOfPage);
    for (HistoryRow& row : *rows) runs.push_back(std::move(row.job));
    if (!rows->empty()) query.before_row = rows->back().row;
  }
  std::sort(runs.begin(), runs.end(),
            [](const JobRecord& a, const JobRecord& b) {
              return a.end_unix_s < b.end_unix_s;
            });
  for (const JobRecord& run : runs) earlier_runs_.add(run);
}

Status Desk::start_poller(SlurmPoller::MakeApi make_api) {
  Result<std::unique_ptr<SlurmPoller>> poller =
      SlurmPoller::start(std::move(make_api));
  if (!poller) {
    log_error("no queries to Slurm: {}", poller.error().message);
    return Done{};
  }
  poller_ = *std::move(poller);
  recorder_.expect_slurm();
  return loop_.watch(poller_->ready_fd(), [this] { on_slurm(); });
}

// Only what its user sent can be wrong in it: it is checked when it is read.
void Desk::keep_report(const ClusterEvent& event) {
  const std::optional<std::string> packed = from_hex(event.report.packed);
  if (!history_ || !packed) return;
  history_->put(KeptReport{
      uint32_t(event.report.id), event.node, event.report.started_unix_s,
      event.report.updated_unix_s, event.report.uid, unix_s(), *packed});
}

void Desk::on_cluster(const ClusterEvent& event) {
  if (event.kind == ClusterEvent::Kind::kReport) return keep_report(event);
  recorder_.on_cluster(event, unix_s());
  if (event.kind == ClusterEvent::Kind::kPartChanged && event.is_new &&
      event.part.in_cores) {
    untold_.insert(event.job);
  }
}

void Desk::on_slurm() {
  const SlurmPoller::News news = poller_->take();
  for (const std::string& remark : news.remarks) log_warning("{}", remark);
  if (news.site) {
    recorder_.set_cluster(news.site->cluster);
    submit_desk_.set_slurm_user(news.site->slurm_user);
    slurm_user_ = news.site->slurm_user;
  }
  if (news.operators) operators_ = *news.operators;
  for (const SlurmEvent& event : news.events) {
    if (event.kind == SlurmEvent::Kind::kNodeCpus && event.node.cpus > 0) {
      service_.controller().set_slurm_cpus(event.node.name,
                                           double(event.node.cpus));
    }
    recorder_.on_slurm(event, unix_s());
  }
  if (news.waiting) submit_desk_.set_waiting(*news.waiting);
  tell_earlier_runs();
}

// A job's kind is known once Slurm has reported the job.
void Desk::tell_earlier_runs() {
  for (auto it = untold_.begin(); it != untold_.end();) {
    const auto kind = recorder_.kind_of(*it);
    const bool has_ended = service_.controller().plan().nodes_of(*it).empty();
    if (!kind && !has_ended) {
      ++it;
      continue;
    }
    if (kind) {
      const auto profile = earlier_runs_.profile_for(kind->uid, kind->kind);
      if (profile) service_.controller().set_earlier(*it, figures_of(*profile));
    }
    it = untold_.erase(it);
  }
}

// A standby controller receives the same messages and keeps its own history.
void Desk::record() {
  tell_earlier_runs();
  for (JobRecord& record : recorder_.take(unix_s())) {
    earlier_runs_.add(record);
    if (history_) history_->put(std::move(record));
  }
  if (!history_) return;
  for (const KeptReport& kept : history_->take_kept()) {
    service_.send(kept.node, ReportKept{kept.job_id, kept.started_unix_s,
                                        kept.updated_unix_s});
  }
}

Status Desk::start_answers() {
  const auto find =
      [this](const HistoryQuery& wanted) -> Result<std::vector<HistoryRow>> {
    if (history_) return history_->find(wanted);
    return no_history();
  };
  const auto find_reports =
      [this](const ReportQuery& wanted) -> Result<std::vector<ReportRow>> {
    if (history_) return history_->find_reports(wanted);
    return no_history();
  };
  auto answerer = Answerer::start(
      [find, find_reports](const Answerer::Question& asked) {
        return build_answer(asked.query, asked.arrived.uid, *asked.view, find,
                            find_reports);
      },
      [this](const Arrived& question, const Result<nlohmann::json>& answer) {
        service_.answer(question, answer);
      });
  if (!answerer) return std::move(answerer).error();
  answerer_ = *std::move(answerer);
  service_.set_asked([this](Arrived question) { ask(std::move(question)); });
  return Done{};
}

void Desk::ask(Arrived question) {
  Result<ControllerQuery> query = read_query(question.envelope.body);
  if (!query) return service_.answer(question, std::move(query).error());
  answerer_->ask({std::move(question), *std::move(query), view()});
}

// Queries of about the same time share a view, so that their number costs the
// event loop nothing.
std::shared_ptr<const ClusterView> Desk::view() {
  if (now_s() - viewed_s_ >= kViewAge_s) {
    viewed_s_ = now_s();
    ClusterView view = view_of(service_.controller(), address_, config_.policy,
                               viewed_s_, unix_s());
    view.operators = operators_;
    if (slurm_user_) view.operators.insert(*slurm_user_);
    view_ = std::make_shared<ClusterView>(std::move(view));
  }
  return view_;
}

}  // namespace penstock
