#include "select_ext/ctld/slurm_poller.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>

#include "common/blocked_thread.h"
#include "common/waker.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kPatience(1);

void append(std::vector<SlurmEvent>& to, std::vector<SlurmEvent> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()),
            std::make_move_iterator(from.end()));
}

std::vector<WaitingJob> waiting_of(const std::vector<SlurmJob>& jobs) {
  std::vector<WaitingJob> waiting;
  for (const SlurmJob& job : jobs) {
    const bool asks = job.gres_per_node.find("loader_") != std::string::npos;
    if (job.phase != SlurmPhase::kWaiting || !asks) continue;
    waiting.push_back({job.job_id, job.gres_per_node});
  }
  return waiting;
}

}  // namespace

struct SlurmPoller::Shared {
  Waker ready;
  int period_ms = 0;

  std::mutex mutex;
  std::condition_variable changed;
  News news;
  bool stopping = false;
  bool stopped = false;

  // Used by the thread alone.
  MakeApi make;
  std::unique_ptr<SlurmApi> api;
  SlurmJobs jobs;
  std::vector<WaitingJob> waiting;  // as last reported
  std::optional<SlurmSite> site;
  std::set<uint32_t> operators;  // as last reported
  int polls = 0;
  int failures_of_operators = 0;  // in a row
  bool told_site = false;
  bool failing = false;

  void serve();
  Result<News> look();
  void look_for_operators(News& found);
  void tell(Result<News> found);
};

// Nodes first: a job's nodes must be known before the job.
Result<SlurmPoller::News> SlurmPoller::Shared::look() {
  if (!api) {
    Result<std::unique_ptr<SlurmApi>> made = make();
    if (!made) return std::move(made).error();
    api = *std::move(made);
  }
  if (!site) {
    Result<SlurmSite> told = api->load_site();
    if (!told) return std::move(told).error();
    site = *std::move(told);
  }
  News found;
  Result<std::optional<std::vector<SlurmNode>>> nodes = api->load_nodes();
  if (!nodes) return std::move(nodes).error();
  if (*nodes) append(found.events, jobs.look(**nodes));
  Result<std::optional<std::vector<SlurmJob>>> now = api->load_jobs();
  // Do not fail here: the node events would be lost, as load_nodes() reports a
  // change only once.
  if (!now && found.events.empty()) return std::move(now).error();
  if (now && *now) {
    append(found.events, jobs.look(**now));
    std::vector<WaitingJob> now_waiting = waiting_of(**now);
    if (now_waiting != waiting) found.waiting = waiting = now_waiting;
  }
  look_for_operators(found);
  return found;
}

// If slurmctld does not tell them any more, nobody is one: rights must end.
void SlurmPoller::Shared::look_for_operators(News& found) {
  if (polls++ % kPollsPerOperators != 0) return;
  Result<std::set<uint32_t>> now = api->load_operators();
  failures_of_operators = now ? 0 : failures_of_operators + 1;
  if (!now && failures_of_operators < kMostFailures) return;
  if (!now && !operators.empty()) {
    found.remarks.push_back(now.error().message +
                            ": nobody is an operator until it does");
  }
  std::set<uint32_t> known = now ? *std::move(now) : std::set<uint32_t>();
  if (known == operators) return;
  found.operators = operators = std::move(known);
}

// REQUIRES: mutex is held.
void SlurmPoller::Shared::tell(Result<News> found) {
  const size_t told = news.events.size() + news.remarks.size();
  if (!found && !std::exchange(failing, true)) {
    news.remarks.push_back(
        fmt::format("{}; jobs keep their present data; next try in {} ms",
                    found.error().message, period_ms));
  }
  if (found && std::exchange(failing, false)) {
    news.remarks.push_back("slurmctld answers again");
  }
  if (found) append(news.events, std::move(found->events));
  if (found) {
    news.remarks.insert(news.remarks.end(), found->remarks.begin(),
                        found->remarks.end());
  }
  if (found && !std::exchange(told_site, true)) news.site = site;
  if (found && found->waiting) news.waiting = std::move(found->waiting);
  if (found && found->operators) news.operators = std::move(found->operators);
  if (news.events.size() + news.remarks.size() == told && !news.site &&
      !news.waiting && !news.operators) {
    return;
  }
  ready.wake();
}

void SlurmPoller::Shared::serve() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    if (news.events.size() < kMaxWaiting) {
      lock.unlock();
      Result<News> found = look();
      lock.lock();
      tell(std::move(found));
    }
    changed.wait_for(lock, std::chrono::milliseconds(period_ms),
                     [this] { return stopping; });
  }
  stopped = true;
  changed.notify_all();
}

Result<std::unique_ptr<SlurmPoller>> SlurmPoller::start(MakeApi make,
                                                        int period_ms) {
  auto shared = std::make_shared<Shared>();
  if (const int error = shared->ready.error(); error != 0) {
    return system_error(error, "eventfd");
  }
  shared->period_ms = period_ms;
  shared->make = std::move(make);
  Result<std::thread> thread =
      start_blocked_thread([shared] { shared->serve(); });
  if (!thread) return std::move(thread).error();
  thread->detach();
  return std::unique_ptr<SlurmPoller>(new SlurmPoller(std::move(shared)));
}

SlurmPoller::~SlurmPoller() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience,
                            [this] { return shared_->stopped; });
}

int SlurmPoller::ready_fd() const { return shared_->ready.fd(); }

SlurmPoller::News SlurmPoller::take() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ready.clear();
  return std::exchange(shared_->news, {});
}

}  // namespace penstock
