// Equalizes jobs that prepare their batches together (docs/staging.md). Cores
// given to one of these jobs speed up all of them. The allocator does not know
// that, and with Policy=throughput it considers any division among them equally
// good. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "select_ext/allocator/problem.h"

namespace penstock {

struct Sharer {
  size_t job = 0;    // index into Problem::jobs
  double ranks = 1;  // > 0; all ranks progress at one rate
};

// Divides the jobs' common resources so that all their ranks progress at one
// rate, within floors, ceilings and max_cores. The sums of cores, and of
// bandwidth per pool, never grow.
// REQUIRES: `answer` solves `problem`; each job's cores_curve has one point.
void even_out(const allocator::Problem& problem,
              const std::vector<Sharer>& sharers,
              allocator::Allocation& answer);

}  // namespace penstock
