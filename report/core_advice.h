// Advice on CPUs and loader threads, from the job's what-if curve. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/advice.h"

namespace penstock {

// CPUs of a task, and workers or threads of its loader, that would make a
// starved job faster, together; or fewer CPUs for a job that does not wait. Not
// more CPUs than the node has. nullopt: nothing would help, or too little is
// known.
//
// The gain is the curve's rate over the measured one. Its lower end is 0 where
// the loader's threads sleep for a reason that is not known.
std::optional<Recommendation> advise_cores(const JobReport& report);

// CPUs for another run of the job, chosen as advise_cores() does.
struct CoresChoice {
  int cpus_per_task = 1;     // those that it had, if no others would help
  std::string threads_line;  // "num_workers=6"; "": as they are
};
// nullopt: too little is known.
std::optional<CoresChoice> choose_cores(const JobReport& report);

// Threads and workers of another run's loader.
enum class LoaderThreads { kAsBefore, kEnough };

// The rate of another run, samples/s of all its ranks, with this number of CPUs
// per task. nullopt: too little is known.
std::optional<Estimate> rate_with_cpus(const JobReport& report, int per_task,
                                       LoaderThreads threads);

// The gain that this many lent cores more would have brought, by the same
// model. 0: the job did not wait for the CPU. nullopt: too little is known.
std::optional<Estimate> gain_of_lent_cores(const JobReport& report,
                                           double cores);

// The lines that give each task this number of CPUs. srun inherits none of the
// batch script (since Slurm 22.05).
std::vector<std::string> cpus_lines(const CoreFigures& cores, uint32_t tasks,
                                    int per_task);

// Gives those problems that are of too many or too few workers the lines of
// advise_cores(), so that the report says one thing. A problem that has no
// lines then is removed.
void follow_advice(const JobReport& report,
                   std::vector<LaunchProblem>& problems);

}  // namespace penstock
