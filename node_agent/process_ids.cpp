#include "node_agent/process_ids.h"

#include "node_agent/scanner.h"

namespace penstock {

pid_t host_tid(const ProcReader& proc, pid_t sender_pid,
               pid_t tid_in_namespace) {
  // Without a pid namespace of its own, the tid is the machine's.
  Result<ProcStatus> direct = proc.status(tid_in_namespace);
  if (direct && direct->tgid == sender_pid && direct->ns_pids.size() <= 1) {
    return tid_in_namespace;
  }
  Result<ProcStatus> sender = proc.status(sender_pid);
  if (!sender || sender->ns_pids.size() <= 1) return -1;
  Result<std::vector<pid_t>> threads = proc.threads(sender_pid);
  if (!threads || threads->size() > kMaxRegisteredThreads) return -1;
  for (pid_t tid : *threads) {
    Result<ProcStatus> status = proc.status(tid);
    if (status && !status->ns_pids.empty() &&
        status->ns_pids.back() == tid_in_namespace) {
      return tid;
    }
  }
  return -1;
}

pid_t host_pid(const ProcReader& proc, const Registry& registry,
               const Task& task, pid_t sender_pid, pid_t pid_in_namespace) {
  Result<ProcStatus> sender = proc.status(sender_pid);
  if (!sender) return -1;
  const size_t depth = sender->ns_pids.size();
  if (depth <= 1) {
    Result<Registry::Owner> owner = registry.owner_of(pid_in_namespace);
    return owner && owner->task == &task ? pid_in_namespace : -1;
  }
  // In another namespace, a number says nothing about the machine's processes.
  const auto space = proc.pid_namespace(sender_pid);
  const auto below = proc.descendants(task.id.tid, Scanner::kMaxProcesses);
  if (!space || !below) return -1;
  for (pid_t pid : below->pids) {
    Result<ProcStatus> status = proc.status(pid);
    if (!status || status->ns_pids.size() != depth) continue;
    if (status->ns_pids.back() != pid_in_namespace) continue;
    const auto other = proc.pid_namespace(pid);
    if (other && *other == *space) return pid;
  }
  return -1;
}

}  // namespace penstock
