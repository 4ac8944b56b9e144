// Slurm's lists of generic resources, as job_desc_msg_t carries them:
// "gres:gpu:a100:2,gres:loader_cpu:6" (from 23.11 on "gres/gpu:2"). Pure,
// thread-safe, allocates nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::job_submit {

// Sum of the counts of all entries with that name, of any type; 0 without one.
// A missing count is 1; the suffixes K, M, G, T and P are powers of 1024. At
// most kMaxCount, because users write these.
inline constexpr uint64_t kMaxCount = 1000000;
uint64_t gres_count(std::string_view list, std::string_view name);

// True if an entry has that name, with any count.
bool names_gres(std::string_view list, std::string_view name);

// True if an entry is a GRES. From 23.11 on a list may also hold CPUs, memory
// and licences ("cpu=2,gres/gpu=1,license/matlab=1"), and sbatch writes
// --cpus-per-task there.
bool names_any_gres(std::string_view list);

// The type of the first entry of that name ("a100"), or "".
std::string_view gres_type(std::string_view list, std::string_view name);

}  // namespace penstock::job_submit
