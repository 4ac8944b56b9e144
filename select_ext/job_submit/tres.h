// Slurm's lists of generic resources, as job_desc_msg_t carries them:
// "gres:gpu:a100:2,gres:loader_cpu:6" (from 23.11 on "gres/gpu:2"). Pure,
// thread-safe, allocates nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::job_submit {

// The counts of all entries of that name, of any type, added up; an entry
// without a count counts 1, K, M, G, T and P behind one are powers of 1024.
// At most kMaxCount: users write these. 0 where none has that name.
inline constexpr uint64_t kMaxCount = 1000000;
uint64_t gres_count(std::string_view list, std::string_view name);

// Whether an entry has that name, with whatever count.
bool names_gres(std::string_view list, std::string_view name);

// Whether there is an entry that is a GRES: from 23.11 on a list can have CPUs,
// memory and licences too ("cpu=2,gres/gpu=1,license/matlab=1"), and sbatch
// writes --cpus-per-task there.
bool names_any_gres(std::string_view list);

// The type of the first entry of that name ("a100"), or "".
std::string_view gres_type(std::string_view list, std::string_view name);

}  // namespace penstock::job_submit
