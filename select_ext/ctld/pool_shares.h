// Divides the bandwidth of one storage pool among the ranks that read from it.
// Pure; thread-safe.
#pragma once

#include <vector>

namespace penstock {

// The ranks of one job on one node, as readers of one pool.
struct PoolReader {
  int node = 0;
  double shares = 0;  // > 0, its part of the entitlement
  // The minimum grant. Counted only up to the entitlement; the allocator's
  // rates respect it by construction.
  double floor_bytes_per_s = 0;
  double wanted_bytes_per_s = 0;  // at the allocator's rate
  // The need is unknown, or may only reflect the limit: grant the entitlement
  // at least.
  bool gets_entitlement = false;
};

// bandwidth x shares / all shares.
double entitled_bytes_per_s(double bandwidth_bytes_per_s, double shares,
                            double all_shares);

struct PoolPart {
  double needed_bytes_per_s = 0;   // for the floor and the wanted rate
  double granted_bytes_per_s = 0;  // needed, plus a share of the rest
};

// Returns one part per reader; the granted parts never exceed the bandwidth.
// Each reader gets its floor. kDivided of the unused bandwidth is divided by
// shares, so that a limit rarely throttles what nobody else wants. The rest is
// kept for new jobs: otherwise every start would take from all.
//
// Wants may not fit, because some readers get their entitlement regardless of
// the allocator. Then each want beyond the floor shrinks in proportion.
std::vector<PoolPart> share_pool(double bandwidth_bytes_per_s,
                                 const std::vector<PoolReader>& readers);

inline constexpr double kDivided = 0.75;

}  // namespace penstock
