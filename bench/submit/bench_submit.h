// `penstock bench submit`: cost of job_submit_penstock.so per submission.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

// Starts two Slurms and submits count jobs to each in turn. Then submits count
// jobs to the one with the plugin while the reader of its datagrams is stopped.
// json_file: "" for none. Needs root, Debian's Slurm and the source tree.
// Errors: kUnavailable  a Slurm could not be started, or a submission failed
[[nodiscard]] Status run_bench_submit(int count, const std::string& json_file,
                                      Terminal& terminal);

}  // namespace penstock
