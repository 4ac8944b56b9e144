// A job's list of grant changes, for its report. Pure.
//
// Each change starts with the figures at which the previous one ended. The list
// therefore has no gaps, even if small changes made no entry.
#pragma once

#include "node_agent/job.h"

namespace penstock {

struct Moment {
  double unix_s = 0;
  uint64_t ns = 0;  // CLOCK_MONOTONIC
};

// Records that a plan replaced `before` by job.grant. Makes no entry if no
// visible figure changed: 0.01 cores, 5 % of the bandwidth, the lent CPUs.
void record_plan(Job& job, const PlannedGrant& before, GrantCause cause,
                 const Moment& now);

// Records that the control loop returned lent CPUs; job.loan.cpus holds the
// rest of job.grant.away_cpus. At most one entry per kRecallEntries_ns, as a
// lender may recall its CPUs often.
void record_recall(Job& job, const Moment& now);

// Records that the control loop uses returned CPUs again. Makes no entry unless
// the last entry is the recall.
void record_lent_again(Job& job, const Moment& now);

// Fills in the rate after each change that is kRateAround_s old.
void record_rate_after(Job& job, const Moment& now);

inline constexpr uint64_t kRecallEntries_ns = 10'000'000'000;
// Rates before and after a change are means over this time.
inline constexpr double kRateAround_s = 5;

}  // namespace penstock
