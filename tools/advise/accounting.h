// What sacct knows of a job that ended. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::advise {

// sacct's arguments for parse_accounting(); the job's number follows.
inline const std::vector<std::string> kSacct = {
    "sacct",        "--noheader", "--parsable2",
    "--duplicates", "--format",   "JobIDRaw,State,MaxRSS",
    "--jobs"};

struct Accounted {
  std::string state;  // of the job; "": not known
  // The most that one task used, if Slurm gathered it.
  std::optional<double> memory_bytes;
};
// Ignores lines that are not of that form, or of another task of the array.
Accounted parse_accounting(std::string_view output, uint32_t job_id);

}  // namespace penstock::advise
