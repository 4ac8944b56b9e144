// Policies that set the rates of running jobs. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "tools/simulate/placement.h"
#include "tools/simulate/trace.h"

namespace penstock::simulate {

struct Running {
  const TraceJob* job = nullptr;
  Shares shares;
  double rate = 0;  // iterations/s of each rank
};

// Sets the rates of jobs as they start and end; placement is given.
class RatePolicy {
 public:
  virtual ~RatePolicy() = default;

  // Errors: as the allocator's
  [[nodiscard]] virtual Status start(const Running&) { return Done{}; }
  [[nodiscard]] virtual Status end(const Running&) { return Done{}; }
  [[nodiscard]] virtual Status set_rates(std::vector<Running>& running) = 0;
};

// Divides a node's cores equally among its jobs (A-Dloader's baseline).
std::unique_ptr<RatePolicy> make_even(const ClusterSize& size);
// A fixed slice per GPU (Slurm's): the entitlement, and so the floor.
std::unique_ptr<RatePolicy> make_proportional(const ClusterSize& size);
// Every job at its ceiling, regardless of cores: a bound.
std::unique_ptr<RatePolicy> make_ceiling();

struct PenstockOptions {
  Policy policy = kDefaultPolicy;
  // The allocator's estimate of a job's cores is wrong by up to this factor in
  // either direction, log-uniform over jobs. 1: exact.
  double prediction_error = 1;
  uint64_t seed = 1;
  // All nodes' cores as one node: a bound.
  bool is_pool = false;
};
std::unique_ptr<RatePolicy> make_penstock(const ClusterSize& size,
                                          const PenstockOptions& options);

// ---- Synergy's (OSDI'22): both place and set a speed ----------------------

// kGreedy places a job at its full demand or skips it. kTune first cuts a job
// that does not fit to its fair share, and then its peers.
enum class SynergyPolicy { kGreedy, kTune };

// One round: places the jobs in order on an empty cluster.
std::vector<Running> synergy_round(const std::vector<const TraceJob*>& order,
                                   const ClusterSize& size,
                                   SynergyPolicy policy);

}  // namespace penstock::simulate
