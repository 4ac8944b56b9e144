#include "node_agent/node.h"

#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "common/wire_text.h"
#include "node_agent/home_finder.h"

namespace penstock {
namespace {

constexpr uint64_t kCheapSave_ns = 1'000'000;
constexpr uint64_t kPausePerSave = 9;  // times its cost

}  // namespace

Node::Node(Machine machine_of_node, Config config_of_node)
    : machine(std::move(machine_of_node)),
      config(std::move(config_of_node)),
      registry(machine.proc, machine.backend) {}

bool Node::manages(const penstock_wire_options& options) const {
  if (options.mode == PENSTOCK_MODE_OFF) return false;
  return config.default_auto || asks_for_management(options);
}

bool Node::observes(JobId job) const {
  if (config.modes.empty()) return false;
  ModeSubject subject;
  subject.node = machine.node;
  subject.job_id = job;
  const JobOrigin origin = origins.of(job);
  if (origin != JobOrigin{}) subject.account = origin.account;
  if (!origin.partition.empty()) subject.partition = origin.partition;
  return mode_of(config.modes, subject) == Mode::kObserve;
}

// A user cannot refuse: the partition's jobs hold CPUs that others hold too.
bool Node::takes_as_guest(const Job& job) const {
  if (!config.away_yields || !job.loan.may_give_way) return false;
  const bool has_gpus =
      std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
        return !fixed_text(task.second.start.gpus).empty();
      });
  if (has_gpus) return false;
  const auto& partitions = config.guests.partitions;
  return (config.guests.if_asked && job.options.mode == PENSTOCK_MODE_GUEST) ||
         std::find(partitions.begin(), partitions.end(),
                   origins.of(job.id).partition) != partitions.end();
}

bool Node::settle(Job& job) const {
  const bool is_observed = observes(job.id);
  const bool is_guest = takes_as_guest(job);
  const bool is_same = is_observed == job.observed && is_guest == job.guest;
  if (is_guest != job.guest) job.managed = is_guest || manages(job.options);
  job.observed = is_observed;
  job.guest = is_guest;
  return !is_same;
}

int Node::pool_of(const Job& job) const {
  if (config.pools.empty() || !job.managed) return -1;
  if (job.costs.profile && !job.costs.profile->pool.empty()) {
    for (size_t i = 0; i < config.pools.size(); ++i) {
      if (config.pools[i].name == job.costs.profile->pool) return int(i);
    }
    return -1;
  }
  // A job that names no pool is assumed to read from the first one.
  return 0;
}

CpuSet Node::idle_cpus() const {
  if (!config.lend_idle || is_off()) return CpuSet();
  if (!why_idle_not_lent().empty()) return CpuSet();
  CpuSet idle = machine.topology.cpus;
  if (auto named = CpuSet::parse(config.managed_cpus);
      named && !named->empty()) {
    idle = idle & *named;
  } else {
    idle = idle - *system_cpus;
  }
  // Jobs that started while penstockd was down were not announced.
  Result<CpuSet> held = machine.backend.slurm_cpus();
  if (!held) return CpuSet();
  idle = idle - *held;
  for (const auto& [id, job] : registry.jobs()) idle = idle - job.cpus();
  return whole_cores(idle, machine.topology.core_of_cpu);
}

std::string Node::why_idle_not_lent() const {
  if (!config.lend_idle || !config.managed_cpus.empty() || system_cpus) {
    return "";
  }
  return "the CPUs that Slurm keeps for the system are unknown: " +
         system_cpus.error().message;
}

std::vector<SavedTask> Node::saved_tasks() const {
  std::vector<SavedTask> saved;
  for (const auto& [id, job] : registry.jobs()) {
    for (const auto& [pid, task] : job.tasks) {
      saved.push_back({task.start, task.home, job.started_unix_s,
                       task.loader_cpus, task.split_threads.users,
                       origins.of(id), hanging_processes(task)});
    }
  }
  return saved;
}

void Node::save_state() {
  is_changed_ = false;
  Status status = save_tasks(machine.state_dir_fd, saved_tasks());
  if (!status) log_error("saving state: {}", status.error().message);
}

void Node::save_if_changed() {
  const uint64_t begun_ns = monotonic_ns();
  if (!is_changed_ || begun_ns < next_save_ns_) return;
  save_state();
  const uint64_t now_ns = monotonic_ns();
  const uint64_t cost_ns = now_ns - begun_ns;
  next_save_ns_ =
      cost_ns < kCheapSave_ns ? 0 : now_ns + kPausePerSave * cost_ns;
}

FindHome Node::finder() const {
  return [this, find = FindHome()](pid_t tid) mutable {
    if (!find) find = home_finder(machine.proc, machine.backend, saved_tasks());
    return find(tid);
  };
}

void Node::note_if_off(Job& job) const {
  if (!is_off() || !job.managed) return;
  job.note("Penstock was switched off on this node for a part of the run");
}

}  // namespace penstock
