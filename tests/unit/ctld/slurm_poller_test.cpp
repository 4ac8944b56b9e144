#include "select_ext/ctld/slurm_poller.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using Clock = std::chrono::steady_clock;

// A fake slurmctld that a test controls; thread-safe.
struct FakeSlurm {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<SlurmJob> jobs;
  std::set<uint32_t> operators;
  bool tells_no_operators = false;
  bool is_down = false;
  bool hangs = false;
  int asked = 0;

  void set(std::vector<SlurmJob> now) {
    const std::lock_guard lock(mutex);
    jobs = std::move(now);
  }
  void set_down(bool down) {
    const std::lock_guard lock(mutex);
    is_down = down;
  }
  void set_hangs(bool hang) {
    const std::lock_guard lock(mutex);
    hangs = hang;
    changed.notify_all();
  }
  int times_asked() {
    const std::lock_guard lock(mutex);
    return asked;
  }
};

class FakeApi final : public SlurmApi {
 public:
  explicit FakeApi(std::shared_ptr<FakeSlurm> slurm)
      : slurm_(std::move(slurm)) {}

  Result<std::optional<std::vector<SlurmJob>>> load_jobs() override {
    std::unique_lock lock(slurm_->mutex);
    ++slurm_->asked;
    slurm_->changed.wait(lock, [&] { return !slurm_->hangs; });
    if (slurm_->is_down) {
      return Error{Code::kUnavailable, 0, "slurmctld is away"};
    }
    return std::optional(slurm_->jobs);
  }
  Result<std::optional<std::vector<SlurmNode>>> load_nodes() override {
    return std::optional(std::vector<SlurmNode>{{"n1", 4}});
  }
  Result<SlurmSite> load_site() override { return SlurmSite{"alpha", 64030}; }
  Result<std::set<uint32_t>> load_operators() override {
    const std::lock_guard lock(slurm_->mutex);
    if (slurm_->tells_no_operators) {
      return Error{Code::kUnavailable, 0, "slurmctld does not tell its users"};
    }
    return slurm_->operators;
  }

 private:
  std::shared_ptr<FakeSlurm> slurm_;
};

std::unique_ptr<SlurmPoller> poll_of(const std::shared_ptr<FakeSlurm>& slurm) {
  auto poller = SlurmPoller::start(
      [slurm]() -> Result<std::unique_ptr<SlurmApi>> {
        return std::unique_ptr<SlurmApi>(std::make_unique<FakeApi>(slurm));
      },
      2);
  REQUIRE(poller);
  return *std::move(poller);
}

SlurmJob running(uint32_t id) {
  SlurmJob job;
  job.job_id = id;
  job.phase = SlurmPhase::kRunning;
  job.nodes = "n1";
  return job;
}

// Waits for the next news; fails after 20 s.
SlurmPoller::News next(SlurmPoller& poller) {
  pollfd wait{poller.ready_fd(), POLLIN, 0};
  REQUIRE(::poll(&wait, 1, 20000) == 1);
  return poller.take();
}

template <class Condition>
void wait_for(Condition condition) {
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    REQUIRE(Clock::now() < deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_CASE("operators are reported at first, and when they change") {
  auto slurm = std::make_shared<FakeSlurm>();
  slurm->operators = {1002};
  auto poller = poll_of(slurm);
  SlurmPoller::News news = next(*poller);
  REQUIRE(news.operators);
  CHECK(*news.operators == std::set<uint32_t>{1002});
  const int asked = slurm->times_asked();
  wait_for([&] {
    return slurm->times_asked() > asked + 2 * SlurmPoller::kPollsPerOperators;
  });
  CHECK_FALSE(poller->take().operators);
  {
    const std::lock_guard lock(slurm->mutex);
    slurm->operators.clear();
  }
  news = next(*poller);
  REQUIRE(news.operators);
  CHECK(news.operators->empty());
}

TEST_CASE("operators that slurmctld no longer tells are none") {
  auto slurm = std::make_shared<FakeSlurm>();
  slurm->operators = {1002};
  auto poller = poll_of(slurm);
  REQUIRE(next(*poller).operators);
  {
    const std::lock_guard lock(slurm->mutex);
    slurm->tells_no_operators = true;
  }
  const SlurmPoller::News news = next(*poller);
  REQUIRE(news.operators);
  CHECK(news.operators->empty());
  REQUIRE(news.remarks.size() == 1);
  CHECK(
      news.remarks[0] ==
      "slurmctld does not tell its users: nobody is an operator until it does");
}

TEST_CASE("a change is reported once") {
  auto slurm = std::make_shared<FakeSlurm>();
  slurm->jobs = {running(1)};
  auto poller = poll_of(slurm);
  SlurmPoller::News news = next(*poller);
  REQUIRE(news.events.size() == 2);
  CHECK(news.events[0].kind == SlurmEvent::Kind::kNodeCpus);
  CHECK(news.events[1].job == running(1));
  const int asked = slurm->times_asked();
  wait_for([&] { return slurm->times_asked() > asked + 3; });
  pollfd wait{poller->ready_fd(), POLLIN, 0};
  CHECK(::poll(&wait, 1, 0) == 0);
  slurm->set({running(1), running(2)});
  news = next(*poller);
  REQUIRE(news.events.size() == 1);
  CHECK(news.events[0].job == running(2));
}

TEST_CASE("the site is reported once, and pending jobs when they change") {
  auto slurm = std::make_shared<FakeSlurm>();
  SlurmJob waiting = running(3);
  waiting.phase = SlurmPhase::kWaiting;
  waiting.gres_per_node = "gres:gpu:2,gres:loader_cpu:8";
  SlurmJob plain = waiting;
  plain.job_id = 4;
  plain.gres_per_node = "gres:gpu:2";
  slurm->jobs = {running(1), waiting, plain};
  auto poller = poll_of(slurm);
  SlurmPoller::News news = next(*poller);
  REQUIRE(news.site);
  CHECK(*news.site == SlurmSite{"alpha", 64030});
  REQUIRE(news.waiting);
  CHECK(*news.waiting ==
        std::vector<WaitingJob>{{3, "gres:gpu:2,gres:loader_cpu:8"}});
  waiting.start_unix_s = 1780000000;  // expected start
  slurm->set({running(1), running(2), waiting});
  news = next(*poller);
  CHECK_FALSE(news.site);
  CHECK_FALSE(news.waiting);
  slurm->set({running(1), running(2)});
  news = next(*poller);
  REQUIRE(news.waiting);
  CHECK(news.waiting->empty());
}

TEST_CASE("an absent slurmctld is logged once, and no data is dropped") {
  auto slurm = std::make_shared<FakeSlurm>();
  slurm->jobs = {running(1)};
  auto poller = poll_of(slurm);
  (void)next(*poller);
  slurm->set_down(true);
  SlurmPoller::News news = next(*poller);
  CHECK(news.events.empty());
  REQUIRE(news.remarks.size() == 1);
  CHECK_THAT(news.remarks[0], ContainsSubstring("slurmctld is away") &&
                                  ContainsSubstring("next try in"));
  const int asked = slurm->times_asked();
  wait_for([&] { return slurm->times_asked() > asked + 3; });
  CHECK(poller->take().remarks.empty());
  slurm->set_down(false);
  news = next(*poller);
  CHECK(news.events.empty());  // job 1 still runs
  REQUIRE(news.remarks.size() == 1);
  CHECK_THAT(news.remarks[0], ContainsSubstring("answers again"));
}

TEST_CASE("a failed creation of the API is retried") {
  std::atomic<int> tried = 0;
  auto slurm = std::make_shared<FakeSlurm>();
  auto poller = SlurmPoller::start(
      [&tried, slurm]() -> Result<std::unique_ptr<SlurmApi>> {
        if (++tried < 3) {
          return Error{Code::kNotFound, 0, "slurm.conf: not there"};
        }
        return std::unique_ptr<SlurmApi>(std::make_unique<FakeApi>(slurm));
      },
      2);
  REQUIRE(poller);
  SlurmPoller::News news;
  wait_for([&] {
    SlurmPoller::News more = (*poller)->take();
    for (auto& remark : more.remarks) news.remarks.push_back(remark);
    return news.remarks.size() == 2;
  });
  CHECK_THAT(news.remarks[0], ContainsSubstring("slurm.conf: not there"));
  CHECK_THAT(news.remarks[1], ContainsSubstring("answers again"));
}

TEST_CASE("a blocking call delays no other call, and its thread ends with it") {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  wait_for([&] { return threads() == 1; });  // those of other tests end
  auto slurm = std::make_shared<FakeSlurm>();
  slurm->hangs = true;
  {
    auto poller = poll_of(slurm);
    wait_for([&] { return slurm->times_asked() == 1; });
    CHECK(poller->take().events.empty());
    const auto start = Clock::now();
    poller.reset();
    CHECK(Clock::now() - start < std::chrono::seconds(5));
  }
  CHECK(threads() == 2);
  slurm->set_hangs(false);
  wait_for([&] { return threads() == 1; });
}

}  // namespace
}  // namespace penstock
