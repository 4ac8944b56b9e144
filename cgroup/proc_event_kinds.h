// The kernel's kinds of process events, whichever headers are installed: their
// names are members of struct proc_event up to Linux 6.5, and stand beside it
// since. A class that is derived from it sees both.
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
