#include "node_agent/home_split.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr size_t kMaxProcesses = 4096;

}  // namespace

CpuSet loader_part(const CpuSet& cpus, uint32_t threads,
                   const std::vector<int>& core_of_cpu) {
  if (threads == 0 || threads >= cpus.size()) return CpuSet();
  std::vector<int> ordered = cpus.cpus();
  auto core = [&](int cpu) {
    return size_t(cpu) < core_of_cpu.size() ? core_of_cpu[size_t(cpu)] : cpu;
  };
  std::sort(ordered.begin(), ordered.end(), [&](int a, int b) {
    return std::pair(core(a), a) < std::pair(core(b), b);
  });
  // The last CPUs: programs that pin themselves start at the first.
  return CpuSet(std::vector<int>(ordered.end() - threads, ordered.end()));
}

void HomeSplitter::apply(const HomeSplit& split, const std::set<pid_t>& pids,
                         const std::set<pid_t>& loader_tids,
                         const std::set<pid_t>& skipped) const {
  const CpuSet trainer = split.trainer();
  for (pid_t pid : pids) {
    Result<std::vector<pid_t>> tids = proc_.threads(pid);
    if (!tids) continue;
    for (pid_t tid : *tids) {
      if (skipped.contains(tid)) continue;
      const CpuSet& side = loader_tids.contains(tid) ? split.loader : trainer;
      Result<CpuSet> mask = sched_.affinity(tid);
      if (!mask || *mask == side) continue;
      const bool ours =
          *mask == split.cpus || *mask == split.loader || *mask == trainer;
      if (ours) (void)sched_.set_affinity(tid, side);
    }
  }
}

void HomeSplitter::undo(const HomeSplit& split, const TaskId& task) const {
  if (split.loader.empty() || !proc_.verify(task)) return;
  const CpuSet trainer = split.trainer();
  std::vector<pid_t> pids = {task.tid};
  if (auto below = proc_.descendants(task.tid, kMaxProcesses)) {
    pids.insert(pids.end(), below->pids.begin(), below->pids.end());
  }
  for (pid_t pid : pids) {
    Result<std::vector<pid_t>> tids = proc_.threads(pid);
    if (!tids) continue;
    for (pid_t tid : *tids) {
      Result<CpuSet> mask = sched_.affinity(tid);
      if (mask && (*mask == split.loader || *mask == trainer)) {
        (void)sched_.set_affinity(tid, split.cpus);
      }
    }
  }
}

}  // namespace penstock
