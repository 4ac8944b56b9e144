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

// bytes/s for each reader; the sum is never over the bandwidth. Each has its
// floor; what wants leave over is divided by shares, so that a limit never
// throttles what nobody else wants; where wants do not fit (because some get
// their entitlement whatever the allocator says), what each wants beyond its
// floor shrinks in proportion.
std::vector<double> share_pool(double bandwidth_bytes_per_s,
                               const std::vector<PoolReader>& readers);

}  // namespace penstock
