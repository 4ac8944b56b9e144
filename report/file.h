// Writes a finished job's report into the administrator's report directory: the
// only I/O of report/.
#pragma once

#include <sys/types.h>

#include "common/protocol.h"
#include "common/result.h"
#include "report/report.h"

namespace penstock {

// Writes JOBID.json into the directory dir_fd, and JOBID.txt if format is
// PENSTOCK_REPORT_TEXT or PENSTOCK_REPORT_UNSET. PENSTOCK_REPORT_NONE writes
// nothing. Each file appears atomically (temporary file, fsync, rename),
// replaces an earlier one of its name, belongs to uid and has mode 0400. Links
// in the directory are never followed.
// Errors: kPermissionDenied, kNotFound, kIo  name the file and the cause
//         (a full disk too). No partial file remains; a file that was complete
//         stays.
[[nodiscard]] Status write_report_file(int dir_fd, const JobReport& report,
                                       uid_t uid,
                                       penstock_report_format format);

}  // namespace penstock
