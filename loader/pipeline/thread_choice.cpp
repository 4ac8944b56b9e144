#include "loader/pipeline/thread_choice.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/units.h"

namespace penstock {

size_t own_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
}

size_t entitled_threads(const char* slurm_cpus_per_task, size_t affinity_cpus) {
  const size_t cpus = std::max<size_t>(affinity_cpus, 1);
  if (slurm_cpus_per_task == nullptr) return cpus;
  return std::min<size_t>(
      parse_uint(slurm_cpus_per_task, 1, 4096).value_or(cpus), cpus);
}

void choose_threads(const ThreadChoice& choice, PipelineOptions& options) {
  options.elastic = choice.fixed == 0;
  if (!options.elastic) {
    options.threads = options.threads_min = options.threads_max = choice.fixed;
    return;
  }
  const auto machine_cpus =
      static_cast<size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  options.threads_min = choice.least;
  options.threads_max =
      std::max(choice.least, choice.most > 0 ? choice.most : machine_cpus);
  options.threads = std::clamp(
      entitled_threads(std::getenv("SLURM_CPUS_PER_TASK"), own_cpus()),
      options.threads_min, options.threads_max);
}

}  // namespace penstock
