// Why a job has fewer loader cores than its ceiling takes. Pure.
#pragma once

#include "node_agent/plan/planner.h"
#include "report/report.h"

namespace penstock {

struct MissingCores {
  double cores = 0;  // 0: none worth a loan
  NotLent why = NotLent::kNoCpus;
};

// job: an entry of input.jobs; grant: its part of the plan.
MissingCores missing_cores(const PlanInput& input, const PlanJob& job,
                           const PlannedGrant& grant);

}  // namespace penstock
