// How the bandwidth of one storage pool is divided among the ranks that read
// from it. Pure; thread-safe.
#pragma once

#include <vector>

namespace penstock {

// The ranks of one job on one node, as far as one pool is concerned.
struct PoolReader {
  int node = 0;
  double shares = 0;  // > 0, its part of the entitlement
  // What must be granted, never more than its entitlement counts; the
  // allocator's rates keep it by construction.
  double floor_bytes_per_s = 0;
  double wanted_bytes_per_s = 0;  // at the rate that the allocator found
  // Its need is not known, or may only show the limit: it gets its
  // entitlement at least.
  bool gets_entitlement = false;
};

// bandwidth x shares / all shares.
double entitled_bytes_per_s(double bandwidth_bytes_per_s, double shares,
                            double all_shares);

struct PoolPart {
  double needed_bytes_per_s = 0;   // for its floor and what it wants
  double granted_bytes_per_s = 0;  // with its share of what is left over
};

// A part for each reader; the sum of the granted is never over the bandwidth.
// Each has its floor; of what wants leave over kDivided is divided by shares,
// so that a limit rarely throttles what nobody else wants, and the rest kept
// for jobs to come: not every start then takes from everyone. Where wants do
// not fit (because some get their entitlement whatever the allocator says),
// what each wants beyond its floor shrinks in proportion.
std::vector<PoolPart> share_pool(double bandwidth_bytes_per_s,
                                 const std::vector<PoolReader>& readers);

inline constexpr double kDivided = 0.75;

}  // namespace penstock
