// The kernel's process event kinds, for headers before and after Linux 6.5.
// Up to 6.5 they are members of struct proc_event, later they are declared at
// namespace scope. A derived class sees both.
#pragma once

#include <linux/cn_proc.h>

#include <cstdint>

namespace penstock {

struct ProcEventKinds : proc_event {
  static constexpr uint32_t kNone = PROC_EVENT_NONE;
  static constexpr uint32_t kFork = PROC_EVENT_FORK;
  static constexpr uint32_t kExec = PROC_EVENT_EXEC;
  static constexpr uint32_t kSid = PROC_EVENT_SID;
  static constexpr uint32_t kComm = PROC_EVENT_COMM;
  static constexpr uint32_t kExit = PROC_EVENT_EXIT;
};

}  // namespace penstock
