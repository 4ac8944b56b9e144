// Writes a finished job's report where the admin wants it: the layer's only
// I/O.
#pragma once

#include <sys/types.h>

#include "common/protocol.h"
#include "common/result.h"
#include "report/report.h"

namespace penstock {

// Writes JOBID.json, and JOBID.txt where format is PENSTOCK_REPORT_TEXT or
// PENSTOCK_REPORT_UNSET, into the directory dir_fd; PENSTOCK_REPORT_NONE
// writes nothing. Each file appears whole or not at all (written aside, synced,
// renamed), replaces an earlier one of its name, belongs to uid and has mode
// 0400. Links in the directory are never followed.
// Errors: kPermissionDenied, kNotFound, kIo  name the file and the cause
//         (a full disk too); nothing partial stays, and a file that was
//         already whole does.
[[nodiscard]] Status write_report_file(int dir_fd, const JobReport& report,
                                       uid_t uid,
                                       penstock_report_format format);

}  // namespace penstock
