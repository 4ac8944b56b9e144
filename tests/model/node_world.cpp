#include "tests/model/node_world.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>

#include "common/log.h"
#include "common/options.h"
#include "node_agent/home_finder.h"
#include "node_agent/last_sweep.h"
#include "tests/model/garbage.h"

namespace penstock::model {
namespace {

constexpr size_t kMostJobs = 3;
constexpr size_t kMostThreads = 40;
constexpr uint64_t kStepsToRest = 3000;
// Turns of a rest: short ones, in which groups must vanish, then long ones, in
// which ended jobs are forgotten.
constexpr int kShortTurns = 150;
constexpr int kLongTurns = 10;
constexpr double kLongTurn_s = 100;

uint64_t ns(double seconds) { return uint64_t(seconds * 1e9); }

bool is_loader(const Thread& thread) {
  return thread.comm.starts_with("pt_data_");
}

}  // namespace

NodeWorld::NodeWorld(Trial& trial)
    : trial_(trial),
      kernel_(trial, trial.one_in(4)),
      facts_{kernel_, config_, {}, false, 0},
      checks_(trial, facts_),
      client_(dir_.path() / "sock"),
      rest_at_(kStepsToRest) {
  ::signal(SIGCHLD, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  set_log_level(LogLevel(0));
  config_.socket_path = dir_.path() / "sock";
  config_.state_dir = dir_.path();
  config_.report_dir = dir_.path() / "none";
  config_.report_min_seconds = 1e9;
  config_.log_level = "error";
  config_.managed_cpus = "1-7";
  config_.default_auto = trial.one_in(2);
  config_.lend_across = LendAcross(trial.below(3));
  state_dir_.reset(::open(dir_.path().c_str(), O_DIRECTORY | O_CLOEXEC));
  calls_.open_pidfd = [this](pid_t pid) { return kernel_.open_pidfd(pid); };
  calls_.idle = [this] { idle(); };
  let_run(0.01);
  calls = &calls_;
}

NodeWorld::~NodeWorld() { calls = nullptr; }

void NodeWorld::run() {
  while (trial_.step() < trial_.steps()) {
    boot();
    calls_.is_ending = false;
    (void)loop_->run();
    shut_down();
  }
  checks_.look_at_end();
}

void NodeWorld::boot() {
  trial_.did("penstockd starts");
  end_ = End::kNone;
  checks_.forget_doubts();
  loop_ = std::make_unique<EventLoop>(*EventLoop::create());
  broker_ = std::make_unique<LocalBroker>(config_.socket_path);
  backend_ = std::make_unique<V1Backend>(*V1Backend::create(
      kernel_.fs(), kernel_.proc(), kernel_.sched(), kernel_.mounts(), {}));
  Topology topology;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < Kernel::kCpus; ++cpu) {
    cpus.push_back(cpu);
    topology.numa_node_of_cpu.push_back(cpu / 4);
    topology.core_of_cpu.push_back(cpu);
  }
  topology.cpus = CpuSet(cpus);
  agent_ = std::make_unique<Agent>(
      Machine{*loop_, *broker_, kernel_.proc(), kernel_.sched(), *backend_,
              std::move(topology), *CpuIdle::open(), state_dir_.get(), "n1",
              [](bool) {}, [this] { return clean_ups_; }},
      config_);
  const Status started = agent_->start();
  trial_.must(started.ok(), "penstockd does not start");
}

void NodeWorld::shut_down() {
  if (end_ == End::kStop) agent_->stop();
  agent_.reset();
  backend_.reset();
  loop_.reset();
  calls_.timers.clear();
  client_.forget_all();
  kernel_.note_forgotten();
  end_limits();
  for (auto& [id, job] : facts_.jobs) {  // while penstockd is down
    if (trial_.one_in(2)) end_job(job);
  }
}

// Whenever penstockd has nothing to do.
void NodeWorld::idle() {
  client_.read_replies();
  facts_.now_s = double(calls_.now_ns) * 1e-9;
  clear_away();
  checks_.look();
  if (trial_.step() >= trial_.steps()) end_ = End::kCrash;
  if (end_ != End::kNone) {
    calls_.is_ending = true;
    loop_->stop();
    return;
  }
  trial_.begin_step();
  if (trial_.step() >= rest_at_) return rest();
  act();
  pass();
}

void NodeWorld::pass() {
  const double seconds = trial_.one_in(400)  ? trial_.between(1, 60)
                         : trial_.one_in(20) ? trial_.between(0.1, 1)
                                             : trial_.between(0, 0.04);
  let_run(seconds);
  calls_.pass(ns(seconds));
}

// All jobs end, no call fails, and time passes.
void NodeWorld::rest() {
  if (resting_ == 0) {
    trial_.did("all jobs end");
    kernel_.set_faults(0);
    for (auto& [id, job] : facts_.jobs) end_job(job);
  }
  if (++resting_ == kShortTurns) client_.forget_all();
  const double seconds = resting_ <= kShortTurns ? 0.1 : kLongTurn_s;
  let_run(seconds);
  calls_.pass(ns(seconds));
  if (resting_ < kShortTurns + kLongTurns) return;
  checks_.look_at_rest();
  resting_ = 0;
  rest_at_ = trial_.step() + kStepsToRest;
}

SimJob* NodeWorld::random_job() {
  if (facts_.jobs.empty()) return nullptr;
  auto job = facts_.jobs.begin();
  std::advance(job, long(trial_.below(facts_.jobs.size())));
  return job->second.has_ended ? nullptr : &job->second;
}

void NodeWorld::act() {
  SimJob* const job = random_job();
  switch (trial_.below(16)) {
    case 0: {
      // Rather on free CPUs that are lent.
      const bool lends = kernel_.groups().contains("cpuset/penstock");
      if (facts_.jobs.size() < kMostJobs && trial_.one_in(lends ? 2 : 8)) {
        start_job();
      }
      return;
    }
    case 1:
    case 2:
    case 3:
      if (job != nullptr) fork_or_thread(*job);
      return;
    case 4:
      if (job != nullptr) end_process_of(*job);
      return;
    case 5:
      if (job != nullptr && trial_.one_in(12)) end_job(*job);
      return;
    case 6:
    case 7:
    case 8:
      if (job != nullptr) tell(*job);
      return;
    case 9:
      if (job == nullptr || !trial_.one_in(4)) return;
      job->is_busy = !job->is_busy;
      trial_.did("job {} is {}", job->id, job->is_busy ? "busy" : "idle");
      return;
    case 10:
      return send_garbage(trial_, client_);
    case 11:
      return administer();
    default:
      return;
  }
}

// --- Slurm

void NodeWorld::start_job() {
  SimJob job;
  job.id = next_job_++;
  job.uid = 1000 + trial_.below(3);
  job.account = trial_.one_in(3) ? "" : trial_.one_in(2) ? "a" : "b";
  CpuSet free = *CpuSet::parse("0-7");
  for (const auto& [id, other] : facts_.jobs) free = free - other.cpus;
  // Sometimes jobs share CPUs (gang scheduling).
  std::vector<int> cpus =
      (trial_.one_in(12) ? *CpuSet::parse("0-7") : free).cpus();
  if (cpus.empty()) return;
  std::shuffle(cpus.begin(), cpus.end(),
               std::minstd_rand(uint32_t(trial_.below(1 << 30))));
  cpus.resize(1 + trial_.below(std::min<size_t>(cpus.size(), 4)));
  job.cpus = CpuSet(cpus);
  job.mode = trial_.one_in(6) ? 2 : trial_.one_in(4) ? 0 : 1;
  job.threads = trial_.one_in(2) ? uint32_t(1 + trial_.below(2)) : 0;
  if (job.threads > 0 && job.mode == 0) job.mode = 1;
  job.group = fmt::format("/slurm/uid_{}/job_{}/step_0", job.uid, job.id);
  kernel_.make_slurm_group("/slurm", *CpuSet::parse("0-7"));
  kernel_.make_slurm_group(fmt::format("/slurm/uid_{}", job.uid),
                           *CpuSet::parse("0-7"));
  kernel_.make_slurm_group(fmt::format("/slurm/uid_{}/job_{}", job.uid, job.id),
                           job.cpus);
  kernel_.make_slurm_group(job.group, job.cpus);
  trial_.did("job {} of user {} starts on CPUs {}, mode {}, {} threads", job.id,
             job.uid, job.cpus.to_string(), job.mode, job.threads);
  if (trial_.one_in(2)) {
    penstock_job_start start{};
    start.job_id = job.id;
    job.account.copy(start.account, sizeof start.account);
    client_.send(1, 0, PENSTOCK_JOB_START, start);
  } else {
    job.account.clear();
  }
  SimJob& kept = facts_.jobs.emplace(job.id, std::move(job)).first->second;
  for (uint64_t left = trial_.one_in(4) ? 2 : 1; left > 0; --left) {
    const pid_t pid = kernel_.start_process(kept.uid, kept.group);
    kept.roots.insert(pid);
    if (kept.threads == 0 && trial_.one_in(2)) {  // task/affinity
      kept.has_masks = true;
      kernel_.choose_mask(
          pid, CpuSet({kept.cpus.cpus()[trial_.below(kept.cpus.size())]}));
    }
    if (!trial_.one_in(20)) announce(kept, pid);
  }
}

void NodeWorld::announce(SimJob& job, pid_t pid) {
  penstock_task_start start{};
  start.job_id = job.id;
  start.uid = job.uid;
  start.gid = job.uid;
  start.pid = pid;
  start.options.mode = job.mode;
  start.options.threads = job.threads;
  trial_.did("task {} of job {} is announced", pid, job.id);
  client_.send(1, 0, PENSTOCK_TASK_START, start,
               [this, id = job.id, pid](int status) {
                 const auto found = facts_.jobs.find(id);
                 if (status != 0 || found == facts_.jobs.end()) return;
                 checks_.look_at_start(found->second, pid);
               });
}

void NodeWorld::end_process_of(SimJob& job) {
  std::vector<pid_t> pids;
  for (const auto& [tid, thread] : kernel_.threads()) {
    if (kernel_.group_of(thread, "freezer") == job.group) pids.push_back(tid);
  }
  if (pids.empty()) return;
  const pid_t tid = trial_.one_of(pids);
  if (job.roots.contains(tid) && !trial_.one_in(12)) return;
  trial_.did("thread {} of job {} ends", tid, job.id);
  kernel_.end_thread(tid);
  if (!job.roots.erase(tid) || trial_.one_in(3)) return;
  penstock_task_exit exit{};
  exit.job_id = job.id;
  exit.pid = tid;
  exit.exited_ns = calls_.now_ns;
  client_.send(1, 0, PENSTOCK_TASK_EXIT, exit);
}

void NodeWorld::end_job(SimJob& job) {
  if (job.has_ended) return;
  trial_.did("job {} ends", job.id);
  job.has_ended = true;
  kernel_.freeze(job.group, false);
  for (;;) {
    const auto thread = std::find_if(
        kernel_.threads().begin(), kernel_.threads().end(),
        [&](const auto& it) {
          return kernel_.group_of(it.second, "freezer") == job.group;
        });
    if (thread == kernel_.threads().end()) break;
    kernel_.end_thread(thread->first);
  }
  if (trial_.one_in(10)) return;  // the message is lost
  penstock_job_end end{};
  end.job_id = job.id;
  client_.send(1, 0, PENSTOCK_JOB_END, end);
}

// Slurm removes the groups of ended jobs once they are empty.
void NodeWorld::clear_away() {
  for (auto& [id, job] : facts_.jobs) {
    std::erase_if(job.roots,
                  [this](pid_t pid) { return !kernel_.is_process(pid); });
  }
  std::erase_if(facts_.jobs, [this](const auto& entry) {
    const SimJob& job = entry.second;
    if (!job.has_ended) return false;
    const std::string above = job.group.substr(0, job.group.rfind('/'));
    return (!kernel_.groups().contains("cpuset" + job.group) ||
            kernel_.remove_slurm_group(job.group)) &&
           kernel_.remove_slurm_group(above);
  });
}

// penstockd lifts them at a start and when it is switched off.
void NodeWorld::end_limits() {
  for (auto& [id, job] : facts_.jobs) job.limited_until_s = 0;
}

// --- Jobs

void NodeWorld::fork_or_thread(SimJob& job) {
  std::vector<pid_t> pids;
  size_t threads = 0;
  for (const auto& [tid, thread] : kernel_.threads()) {
    if (kernel_.group_of(thread, "freezer") != job.group) continue;
    ++threads;
    if (tid == thread.pid) pids.push_back(tid);
  }
  if (pids.empty() || kernel_.threads().size() >= kMostThreads ||
      threads > kMostThreads / 3) {
    return;
  }
  const pid_t pid = trial_.one_of(pids);
  const bool is_process = trial_.one_in(2);
  const pid_t tid = is_process ? kernel_.fork(pid) : kernel_.start_thread(pid);
  if (trial_.one_in(3)) {
    kernel_.rename(tid, "python3");
  } else {
    kernel_.rename(tid, "pt_data_worker");
  }
  trial_.did("job {}: {} {} of {}: {}", job.id, is_process ? "child" : "thread",
             tid, pid, kernel_.threads().at(tid).comm);
}

// A message of a job's process, or another act of its user.
void NodeWorld::tell(SimJob& job) {
  std::vector<pid_t> tids;
  for (const auto& [tid, thread] : kernel_.threads()) {
    if (kernel_.group_of(thread, "freezer") == job.group) tids.push_back(tid);
  }
  if (tids.empty()) return;
  const pid_t tid = trial_.one_of(tids);
  const pid_t pid = kernel_.threads().at(tid).pid;
  switch (trial_.below(8)) {
    case 0: {
      penstock_hello hello{};
      hello.api_version = PENSTOCK_PAGE_VERSION;
      trial_.did("job {}: process {} says hello", job.id, pid);
      return client_.send(pid, job.uid, PENSTOCK_HELLO, hello);
    }
    case 1:
    case 2: {
      penstock_thread thread{};
      thread.tid = trial_.one_in(4) ? int32_t(1000 + trial_.below(400)) : tid;
      thread.is_loader = trial_.one_in(4) ? 0 : 1;
      trial_.did("job {}: process {} registers thread {}: {}", job.id, pid,
                 thread.tid, thread.is_loader);
      return client_.send(pid, job.uid, PENSTOCK_THREAD, thread);
    }
    case 3: {
      if (!trial_.one_in(4)) return;
      penstock_limit limit{};
      limit.millicores = trial_.one_in(3) ? 0 : 100 + trial_.below(4000);
      limit.ends = trial_.one_in(2) ? 1 : 0;
      trial_.did("job {}: process {} asks for {} millicores, ends: {}", job.id,
                 pid, limit.millicores, limit.ends);
      return client_.send(pid, job.uid, PENSTOCK_LIMIT, limit,
                          [this, id = job.id, ends = limit.ends](int status) {
                            const auto found = facts_.jobs.find(id);
                            if (found == facts_.jobs.end()) return;
                            // A refused one may bar the job as well, until it
                            // lapses.
                            if (status == 0 && ends == 1)
                              found->second.limited_until_s = 0;
                            if (ends == 0) {
                              found->second.limited_until_s =
                                  double(calls_.now_ns) * 1e-9 +
                                  PENSTOCK_LIMIT_LAPSES_S;
                            }
                          });
    }
    case 4: {
      if (!trial_.one_in(4)) return;
      const int cpu = int(trial_.below(Kernel::kCpus));
      trial_.did("job {}: thread {} binds itself to CPU {}", job.id, tid, cpu);
      job.has_masks = true;
      kernel_.choose_mask(tid, CpuSet({cpu}));
      return;
    }
    case 5:
      if (!trial_.one_in(job.is_frozen ? 2 : 16)) return;
      job.is_frozen = !job.is_frozen;
      trial_.did("job {} is {}", job.id, job.is_frozen ? "frozen" : "thawed");
      return kernel_.freeze(job.group, job.is_frozen);
    case 6: {
      penstock_status status{};
      status.job_id = trial_.one_in(2) ? 0 : job.id;
      return client_.send(pid, job.uid, PENSTOCK_STATUS, status);
    }
    default:
      return kernel_.rename(tid,
                            trial_.one_in(2) ? "python3" : "pt_data_worker");
  }
}

// Loaders of busy jobs run; the owners of idle jobs leave their CPUs idle.
void NodeWorld::let_run(double seconds) {
  bool is_busy[Kernel::kCpus] = {};
  for (const auto& [id, job] : facts_.jobs) {
    if (!job.is_busy || job.is_frozen) continue;
    for (int cpu : job.cpus.cpus()) is_busy[cpu] = true;
  }
  for (const auto& [tid, thread] : kernel_.threads()) {
    if (!is_loader(thread)) continue;
    const auto job =
        std::find_if(facts_.jobs.begin(), facts_.jobs.end(),
                     [&, group = kernel_.group_of(thread, "freezer")](
                         const auto& it) { return it.second.group == group; });
    const bool runs = job != facts_.jobs.end() && job->second.is_busy &&
                      !job->second.is_frozen;
    if (runs) {
      const bool is_away = thread.groups.at("cpuset").starts_with("/penstock");
      const bool starves = is_away && is_busy[thread.affinity.cpus().front()];
      kernel_.run(tid, starves ? 0 : ns(seconds),
                  starves ? 0 : ns(seconds / 3));
    }
    if (runs != (thread.state == 'R')) kernel_.set_state(tid, runs ? 'R' : 'S');
  }
  all_ticks_ += ns(seconds) / 1000;
  std::string text;
  for (int cpu = 0; cpu < Kernel::kCpus; ++cpu) {
    if (is_busy[cpu]) busy_ticks_[cpu] += ns(seconds) / 1000;
    text += fmt::format("cpu{} {} 0 0 {} 0 0 0 0 0 0\n", cpu, busy_ticks_[cpu],
                        all_ticks_ - busy_ticks_[cpu]);
  }
  calls_.set_cpu_stat(text);
}

// --- Others

void NodeWorld::administer() {
  switch (trial_.below(40)) {
    case 0:
    case 1:
    case 2: {
      if (!facts_.is_off && !trial_.one_in(3)) return;
      penstock_switch wanted{};
      wanted.off = facts_.is_off ? 0 : 1;
      trial_.did("penstock {}", facts_.is_off ? "on" : "off");
      return client_.send(1, 0, PENSTOCK_SWITCH, wanted,
                          [this, off = wanted.off](int status) {
                            if (status != 0) return;
                            facts_.is_off = off == 1;
                            end_limits();
                          });
    }
    case 3:
      config_.lend_across = LendAcross(trial_.below(3));
      config_.lend_idle = trial_.one_in(2);
      config_.policy = trial_.one_in(4) ? Policy::kEven : Policy::kThroughput;
      trial_.did("reload: LendAcross {}, LendIdle {}", int(config_.lend_across),
                 config_.lend_idle);
      return agent_->reload(config_);
    case 4:
      if (trial_.one_in(2)) return;  // tables must have time to grow
      end_ =
          trial_.one_in(3) && !kernel_.has_faults() ? End::kStop : End::kCrash;
      trial_.did("penstockd {}", end_ == End::kStop ? "stops" : "is killed");
      return;
    case 5:
    case 6: {
      if (!kernel_.has_faults() && !trial_.one_in(3)) return;
      const uint64_t one_in = kernel_.has_faults() ? 0 : 5 + trial_.below(60);
      trial_.did("one in {} calls fails", one_in);
      return kernel_.set_faults(one_in);
    }
    case 7:
      calls_.slept_ns += ns(trial_.between(0, 1000));
      calls_.unix_ns += ns(trial_.between(0, 4000)) - ns(2000);
      trial_.did("the time of day steps");
      return;
    case 8:
      if (kernel_.has_faults()) return;
      trial_.did("the guardian cleans up");
      kernel_.note_forgotten();
      end_limits();
      (void)last_sweep(*backend_, nullptr);
      ++clean_ups_;
      return;
    default:
      return;
  }
}

}  // namespace penstock::model
