// What a submission asks for, out of Slurm's types, and what Penstock makes of
// it: how many ranks a node will have and how much of loader_cpu and loader_bw
// they need. Pure, thread-safe, allocates nothing.
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
  uint32_t nodes = 0;  // the least
  uint32_t tasks = 0;
  uint32_t tasks_per_node = 0;
  uint32_t sockets_per_node = 0;
  bool is_batch = false;  // has a script
  bool is_het = false;    // a component of a heterogeneous job
};

uint32_t nodes_of(const JobRequest& request);           // at least 1
uint32_t tasks_per_node_of(const JobRequest& request);  // at least 1
// GPUs of one node, however they were asked for; rounded up where they do not
// divide evenly.
uint32_t gpus_per_node_of(const JobRequest& request);

// Ranks of one node: its GPUs. A job without GPUs and other GRES has one rank
// per task, where it asked for management and its steps can be kept from
// queueing for the loader's GRES (see steps_need_no_gres): a batch job that is
// not heterogeneous. Else 0.
uint32_t ranks_per_node(const JobRequest& request, bool asked);

// Whether the job's steps must be told not to inherit its GRES: each step
// that names none gets all of them, so that parallel steps would wait for each
// other. Steps of a job with GPUs do that without us, or name their GPUs.
bool steps_need_no_gres(const JobRequest& request);

// What the admin set.
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

// Demand divided by overcommit and rounded up, at most what a node has, so
// that a job alone always fits.
Amounts amounts_for(uint64_t millicores_per_rank, uint64_t bytes_per_s_per_rank,
                    uint32_t ranks, const GresLimits& limits);

// The same for a submission: the model's demand, but for --loader-bw=RATE,
// which is what the job needs on each node. demand: nullptr for none.
Amounts amounts_for(const ModelDemand* demand,
                    const penstock_wire_options& options, uint32_t ranks,
                    const GresLimits& limits);

// For penstockctld: what a queued job needs per GPU, from the GRES that Slurm
// shows for it, so that its part of the table survives an update of them.
// amounts_for() makes the same counts of it again. nullopt: the list names no
// GPUs, or nothing of the loader's.
std::optional<JobDemand> queued_demand(uint32_t job_id,
                                       std::string_view tres_per_node,
                                       double overcommit);

}  // namespace penstock::job_submit
