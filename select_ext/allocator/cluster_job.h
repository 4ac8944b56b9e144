// Checks a job and turns it into the solver's form. Pure. Internal to the
// allocator.
#pragma once

#include "select_ext/allocator/cluster_state.h"

namespace penstock::allocator {

// Errors: as ClusterSolver::add.
[[nodiscard]] Status check_job(const ClusterState& state,
                               const ClusterJob& job);
// REQUIRES: check_job(state, job).
JobState make_job(const ClusterState& state, const ClusterJob& job);

}  // namespace penstock::allocator
