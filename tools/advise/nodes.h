// The nodes of a partition, as sinfo lists them, and those that fit. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "tools/advise/request.h"

namespace penstock::advise {

// sinfo's arguments for parse_nodes(), of every partition.
inline const std::vector<std::string> kSinfo = {
    "sinfo", "--noheader", "--exact", "--format", "%P|%D|%c|%m|%t|%G"};

// Nodes of one partition that are alike.
struct NodeGroup {
  std::string partition;
  bool is_default = false;  // partition
  int nodes = 0;
  int cpus = 0;  // of each
  double memory_bytes = 0;
  std::vector<GresGpus> gpus;
  bool is_up = false;
};

// Errors: kInvalidArgument  a line that is not of that form
[[nodiscard]] Result<std::vector<NodeGroup>> parse_nodes(
    std::string_view output);

// The groups of the request's partitions, or of the default one.
// Errors: kInvalidArgument  no such partition: names those that there are
[[nodiscard]] Result<std::vector<NodeGroup>> nodes_for(
    const Request& request, const std::vector<NodeGroup>& all);

// The request on the fewest nodes that its tasks, GPUs and CPUs fit on, as
// Slurm chooses them without --nodes; as it is, if none do or it has a number
// of nodes.
Request spread_over_nodes(const Request& request,
                          const std::vector<NodeGroup>& groups);

struct FittingNodes {
  std::string partitions;  // "gpu, short"
  int up = 0;              // of those that fit
  int down = 0;
  int all = 0;  // of the partitions
};
FittingNodes fitting_nodes(const Request& request, int cpus_per_task,
                           const std::vector<NodeGroup>& groups);

// The most CPUs that a task can have on a node with the request's GPUs and
// memory. nullopt: no node has these.
std::optional<int> most_cpus_per_task(const Request& request,
                                      const std::vector<NodeGroup>& groups);
// The CPUs of a task if all GPUs of such a node have equally many, on the nodes
// where these are most. nullopt: the request has no GPUs.
std::optional<int> cpus_of_gpu_share(const Request& request,
                                     const std::vector<NodeGroup>& groups);
// The GPU type of these nodes; "": none, or several.
std::string gpu_type_of(const Request& request,
                        const std::vector<NodeGroup>& groups);

}  // namespace penstock::advise
