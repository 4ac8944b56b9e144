// What rates running jobs get. Pure.
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

// Sets the rates of jobs that come and go; their places are given.
class RatePolicy {
 public:
  virtual ~RatePolicy() = default;

  // Errors: as the allocator's
  [[nodiscard]] virtual Status start(const Running&) { return Done{}; }
  [[nodiscard]] virtual Status end(const Running&) { return Done{}; }
  [[nodiscard]] virtual Status set_rates(std::vector<Running>& running) = 0;
};

// A node's cores divided equally among the jobs there (A-Dloader's baseline).
std::unique_ptr<RatePolicy> make_even(const ClusterSize& size);
// A fixed slice per GPU (Slurm's): the entitlement, and the floor.
std::unique_ptr<RatePolicy> make_proportional(const ClusterSize& size);
// Every job at its ceiling, whatever cores there are: a bound.
std::unique_ptr<RatePolicy> make_ceiling();

struct PenstockOptions {
  allocator::Objective objective = allocator::Objective::kThroughput;
  // The cores that the allocator thinks a job needs are off by up to this
  // factor, either way, log-uniform by job. 1: exact.
  double prediction_error = 1;
  uint64_t seed = 1;
  // All nodes' cores as one node: a bound.
  bool is_pool = false;
};
std::unique_ptr<RatePolicy> make_penstock(const ClusterSize& size,
                                          const PenstockOptions& options);

// ---- Synergy's (OSDI'22): both place and set a speed ----------------------

// kGreedy places a job at its full demand or skips it. kTune cuts a job that
// does not fit down to its fair share, and then its peers.
enum class SynergyPolicy { kGreedy, kTune };

// One round: jobs in order, onto an empty cluster.
std::vector<Running> synergy_round(const std::vector<const TraceJob*>& order,
                                   const ClusterSize& size,
                                   SynergyPolicy policy);

}  // namespace penstock::simulate
