#include "select_ext/ctld/desk.h"

#include "common/clock.h"
#include "common/log.h"
#include "select_ext/ctld/answers.h"
#include "select_ext/ctld/cluster_view.h"

namespace penstock {
namespace {

constexpr uint64_t kRecord_ms = 1000;

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

Desk::Desk(EventLoop& loop, ControllerService& service, const Config& config,
           std::string address)
    : loop_(loop),
      service_(service),
      config_(config),
      address_(std::move(address)) {}

Status Desk::start(SlurmPoller::MakeApi make_api) {
  open_history();
  service_.add_listener([this](const ClusterEvent& event) {
    recorder_.on_cluster(event, unix_s());
  });
  service_.set_answerer([this](const ControllerQuery& query, uid_t asker) {
    return answer(query, asker);
  });
  Result<int> timer = loop_.add_timer(kRecord_ms, [this] { record(); });
  if (!timer) return std::move(timer).error();
  if (!make_api) return Done{};
  return start_poller(std::move(make_api));
}

void Desk::open_history() {
  HistoryOptions options;
  options.path = config_.history_file;
  options.retention_days = double(config_.history_retention_days);
  Result<std::unique_ptr<History>> history = History::open(
      options, [](const std::string& line) { log_warning("{}", line); });
  if (history) {
    history_ = *std::move(history);
  } else {
    log_error("HistoryFile: {}: no history is kept", history.error().message);
  }
}

Status Desk::start_poller(SlurmPoller::MakeApi make_api) {
  Result<std::unique_ptr<SlurmPoller>> poller =
      SlurmPoller::start(std::move(make_api));
  if (!poller) {
    log_error("Slurm is not asked: {}", poller.error().message);
    return Done{};
  }
  poller_ = *std::move(poller);
  return loop_.watch(poller_->ready_fd(), [this] { on_slurm(); });
}

void Desk::on_slurm() {
  const SlurmPoller::News news = poller_->take();
  for (const std::string& remark : news.remarks) log_warning("{}", remark);
  for (const SlurmEvent& event : news.events) {
    if (event.kind == SlurmEvent::Kind::kNodeCpus && event.node.cpus > 0) {
      service_.controller().set_slurm_cpus(event.node.name,
                                           double(event.node.cpus));
    }
    recorder_.on_slurm(event, unix_s());
  }
}

// A standby controller hears as much and keeps a history of its own.
void Desk::record() {
  for (JobRecord& record : recorder_.take(unix_s())) {
    if (history_) history_->put(std::move(record));
  }
}

Result<nlohmann::json> Desk::answer(const ControllerQuery& query, uid_t asker) {
  const ClusterView view = view_of(service_.controller(), address_,
                                   config_.policy, now_s(), unix_s());
  return build_answer(
      query, asker, view,
      [this](const HistoryQuery& wanted) -> Result<std::vector<HistoryRow>> {
        if (history_) return history_->find(wanted);
        return Error{Code::kUnavailable, 0,
                     "the controller keeps no history; its log says why"};
      });
}

}  // namespace penstock
