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
                         const std::set<pid_t>& skipped,
                         SplitThreads& threads) const {
  const CpuSet trainer = split.trainer();
  const SplitThreads before = std::exchange(threads, {});
  for (pid_t pid : pids) {
    Result<std::vector<pid_t>> tids = proc_.threads(pid);
    if (!tids) continue;
    for (pid_t tid : *tids) {
      if (skipped.contains(tid)) {
        if (before.ours.contains(tid)) threads.ours[tid] = before.ours.at(tid);
        if (before.users.contains(tid)) threads.users.insert(tid);
        continue;
      }
      Result<CpuSet> mask = sched_.affinity(tid);
      if (!mask) continue;
      const Thread thread{pid, tid, *std::move(mask)};
      if (thread.mask != split.cpus && !is_ours(split, thread, before)) {
        if (split.has_part(thread.mask)) threads.users.insert(tid);
        continue;
      }
      const bool of_loader = loader_tids.contains(tid);
      const CpuSet& side = of_loader ? split.loader : trainer;
      if (thread.mask != side && !sched_.set_affinity(tid, side)) continue;
      threads.ours[tid] = of_loader;
    }
  }
}

void HomeSplitter::undo(const HomeSplit& split, const TaskId& task,
                        SplitThreads& threads) const {
  if (threads.ours.empty()) return;
  for (const Thread& thread : in_parts(split, task)) {
    if (!is_ours(split, thread, threads)) continue;
    (void)sched_.set_affinity(thread.tid, split.cpus);
  }
  threads.ours.clear();
}

void HomeSplitter::undo_saved(const HomeSplit& split, const TaskId& task,
                              const std::set<pid_t>& users) const {
  if (split.loader.empty()) return;
  for (const Thread& thread : in_parts(split, task)) {
    if (users.contains(thread.tid)) continue;
    (void)sched_.set_affinity(thread.tid, split.cpus);
  }
}

std::vector<HomeSplitter::Thread> HomeSplitter::in_parts(
    const HomeSplit& split, const TaskId& task) const {
  std::vector<Thread> found;
  if (!proc_.verify(task)) return found;
  std::vector<pid_t> pids = {task.tid};
  if (auto below = proc_.descendants(task.tid, kMaxProcesses)) {
    pids.insert(pids.end(), below->pids.begin(), below->pids.end());
  }
  for (pid_t pid : pids) {
    Result<std::vector<pid_t>> tids = proc_.threads(pid);
    if (!tids) continue;
    for (pid_t tid : *tids) {
      Result<CpuSet> mask = sched_.affinity(tid);
      if (mask && split.has_part(*mask)) {
        found.push_back({pid, tid, *std::move(mask)});
      }
    }
  }
  return found;
}

bool HomeSplitter::is_ours(const HomeSplit& split, const Thread& thread,
                           const SplitThreads& threads) const {
  if (!split.has_part(thread.mask)) return false;
  const bool of_loader = thread.mask == split.loader;
  const auto known = threads.ours.find(thread.tid);
  // A known thread that has the other part was pinned to it by its user.
  if (known != threads.ours.end()) return known->second == of_loader;
  return !threads.users.contains(thread.tid) &&
         inherited(thread, of_loader, threads);
}

// Whether the creator of a new thread, in its process or in the parent, is
// restricted in the same way. An orphan's creator has ended.
bool HomeSplitter::inherited(const Thread& thread, bool of_loader,
                             const SplitThreads& threads) const {
  pid_t creator = thread.pid;
  if (thread.tid == thread.pid) {
    Result<ProcStat> stat = proc_.stat(thread.pid);
    if (!stat) return false;
    creator = stat->ppid;
  }
  const auto is_such = [&](pid_t tid) {
    const auto known = threads.ours.find(tid);
    return known != threads.ours.end() && known->second == of_loader;
  };
  Result<std::vector<pid_t>> tids = proc_.threads(creator);
  if (tids && std::ranges::any_of(*tids, is_such)) return true;
  const bool is_orphan =
      !threads.ours.contains(creator) && !threads.users.contains(creator);
  return is_orphan && !threads.ours.empty();
}

}  // namespace penstock
