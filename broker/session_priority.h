// The kernel's autogroups, sched(7): where no cpu control group divides the
// CPUs, a session competes as a whole with others, and a process's nice value
// counts only within its session.
#pragma once

#include <sys/types.h>

#include "common/result.h"

namespace penstock {

inline constexpr int kSessionNice = -10;

// Gives the session of this leader kSessionNice. A process that leads no
// session is left alone: its session has programs of others, too. So is one
// that has ended, and all of them on a kernel without autogroups.
// Errors: kPermissionDenied  without CAP_SYS_NICE
//         kIo                the kernel refuses for another reason
[[nodiscard]] Status raise_session(pid_t leader);

}  // namespace penstock
