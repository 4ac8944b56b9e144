// Writes a finished job's report into the administrator's report directory: the
// only I/O of report/.
#pragma once

#include <sys/types.h>

#include "common/protocol.h"
#include "common/result.h"
#include "report/report.h"

namespace penstock {

// Writes JOBID/NODE.json into the directory dir_fd, which nodes may share, and
// JOBID/NODE.txt if format is
// PENSTOCK_REPORT_TEXT or PENSTOCK_REPORT_UNSET. PENSTOCK_REPORT_NONE writes
// nothing. Each file appears atomically (temporary file, fsync, rename) and
// replaces an earlier one of its name. It belongs to the caller, and only the
// caller and the user uid can read it: see Replacement::reader. Links in the
// directory are never followed.
//
// The report of an earlier run of the job (requeued) is kept first, as
// JOBID/NODE.1.json and JOBID/NODE.1.txt for the first run, JOBID/NODE.2.json
// for the next. A run is earlier if its report ends before this one starts.
// Only the caller and the user can list the job's directory; everybody can
// where the file system has no access control lists.
// Errors: kPermissionDenied, kNotFound, kIo  name the file and the cause
//         (a full disk too). No partial file remains; a file that was complete
//         stays.
[[nodiscard]] Status write_report_file(int dir_fd, const JobReport& report,
                                       uid_t uid,
                                       penstock_report_format format);

}  // namespace penstock
