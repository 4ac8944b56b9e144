#include "loader/pipeline/thread_choice.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/cpu_affinity.h"
#include "common/units.h"

namespace penstock {

size_t own_cpus() {
  return std::max<size_t>(1, cpu_affinity(0).value_or(CpuSet()).size());
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
