// The list of a job's grant changes, for its report. Pure.
//
// Each change begins with the figures that the one before it ended with: the
// list has no gaps, also where what was in force moved without an entry.
#pragma once

#include "node_agent/job.h"

namespace penstock {

struct Moment {
  double unix_s = 0;
  uint64_t ns = 0;  // CLOCK_MONOTONIC
};

// A plan replaced `before` by job.grant. No entry where nothing that a reader
// could see differs: 0.01 cores, a twentieth of the bandwidth, the lent CPUs.
void record_plan(Job& job, const PlannedGrant& before, GrantCause cause,
                 const Moment& now);

// The closed loop gave lent CPUs back: job.away_now is what is left of
// job.grant.away_cpus. A lender that wants its CPU again and again makes one
// entry in kRecallEntries_ns.
void record_recall(Job& job, const Moment& now);

// The closed loop uses CPUs again that were given back. No entry where the
// last one is not the recall.
void record_lent_again(Job& job, const Moment& now);

inline constexpr uint64_t kRecallEntries_ns = 10'000'000'000;
// Rates before and after a change are means over this time.
inline constexpr double kRateAround_s = 5;

}  // namespace penstock
