// Translates thread and process ids from the pid namespaces of their senders.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "cgroup/proc_reader.h"
#include "node_agent/registry.h"

namespace penstock {

inline constexpr size_t kMaxRegisteredThreads = 4096;  // of one task

// The machine's tid of a thread of the sender. -1: the sender has no such
// thread, or more than kMaxRegisteredThreads.
pid_t host_tid(const ProcReader& proc, pid_t sender_pid,
               pid_t tid_in_namespace);

// The machine's pid of a process of the sender's task. -1: the task has no such
// process in the sender's namespace.
pid_t host_pid(const ProcReader& proc, const Registry& registry,
               const Task& task, pid_t sender_pid, pid_t pid_in_namespace);

}  // namespace penstock
