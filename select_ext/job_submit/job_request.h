// A submission's request without Slurm's types, and Penstock's conclusions: the
// ranks per node and the loader_cpu and loader_bw that they need. Pure,
// thread-safe, allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/protocol.h"
#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

inline constexpr std::string_view kLoaderCpu = "loader_cpu";
inline constexpr std::string_view kLoaderBw = "loader_bw";

// 0 or "": not given.
struct JobRequest {
  std::string_view tres_per_job;
  std::string_view tres_per_node;
  std::string_view tres_per_socket;
  std::string_view tres_per_task;
  uint32_t nodes = 0;  // minimum
  uint32_t tasks = 0;
  uint32_t tasks_per_node = 0;
  uint32_t sockets_per_node = 0;
  bool is_batch = false;  // has a script
  bool is_het = false;    // a component of a heterogeneous job
};

uint32_t nodes_of(const JobRequest& request);           // at least 1
uint32_t tasks_per_node_of(const JobRequest& request);  // at least 1
// GPUs per node, from any form of request; rounded up.
uint32_t gpus_per_node_of(const JobRequest& request);

// Ranks per node: the node's GPUs. A job without GPUs and other GRES has one
// rank per task if it asked for management and its steps can be kept from
// queueing for the loader's GRES (steps_need_no_gres): a batch job that is not
// heterogeneous. Otherwise 0.
uint32_t ranks_per_node(const JobRequest& request, bool asked);

// True if the job's steps must not inherit its GRES. A step that names none
// inherits all of them, so parallel steps would wait for each other. Steps of a
// job with GPUs do so without Penstock too, or name their GPUs.
bool steps_need_no_gres(const JobRequest& request);

// The administrator's settings.
struct GresLimits {
  uint64_t node_cores = 0;        // loader_cpu of the smallest node; 0: unused
  uint64_t node_bytes_per_s = 0;  // the same for loader_bw
  double overcommit = 1;          // >= 0.1
};

// Per node; 0: not added.
struct Amounts {
  uint64_t loader_cpu = 0;  // cores
  uint64_t loader_bw = 0;   // MiB/s
};

// Demand divided by overcommit, rounded up, at most a node's amount. So a job
// alone always fits.
Amounts amounts_for(uint64_t millicores_per_rank, uint64_t bytes_per_s_per_rank,
                    uint32_t ranks, const GresLimits& limits);

// The amounts of a submission: the model's demand, but the user's bandwidth
// overrides it as the job's need per node. demand: nullptr for none.
Amounts amounts_for(const ModelDemand* demand,
                    const penstock_wire_options& options, uint32_t ranks,
                    const GresLimits& limits);

// For penstockctld: the need of a queued job per GPU, computed from the GRES
// that Slurm shows for it. With it in the table, an update of the GRES keeps
// the loader's share; amounts_for() computes the same counts again. nullopt:
// the list names no GPUs, or no loader GRES.
std::optional<JobDemand> queued_demand(uint32_t job_id,
                                       std::string_view tres_per_node,
                                       double overcommit);

}  // namespace penstock::job_submit
