// Jobs that prepare their batches together (docs/staging.md): whatever one of
// them is given makes all go on. The allocation does not know that, and with
// Policy=throughput any division between them is as good for it. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "select_ext/allocator/problem.h"

namespace penstock {

struct Sharer {
  size_t job = 0;    // index into Problem::jobs
  double ranks = 1;  // > 0; each goes on at the common rate
};

// Divides what the jobs of a share were given together so that all their ranks
// go on at one rate, as far as floors, ceilings and max_cores let them. They
// never have more cores, nor more bandwidth of a pool, than before. REQUIRES:
// the answer is one of that problem; each job's cores_curve has one point.
void even_out(const allocator::Problem& problem,
              const std::vector<Sharer>& sharers,
              allocator::Allocation& answer);

}  // namespace penstock
