// What a submission asks of Slurm, as far as advice depends on it. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "tools/advise/sbatch_line.h"

namespace penstock::advise {

struct Request {
  std::string job_name;
  // As Slurm records it: the script's path and its arguments; "": a wrapped
  // command.
  std::string command;
  std::string partition;  // "a,b"; "": the cluster's default
  int nodes = 1;
  int tasks_per_node = 1;
  int cpus_per_task = 1;
  int gpus_per_node = 0;
  std::string gpu_type;  // "": any
  // Of a node, and of each of its CPUs; 0: not given.
  double memory_bytes = 0;
  double memory_bytes_per_cpu = 0;
  // The option that --mem and --cpus-per-task do not go with; "": none.
  std::string memory_option;
  std::string cpus_option;
  // Slurm chooses the number of nodes: spread_over_nodes() (nodes.h).
  bool is_spread = false;
  int gpus = 0;       // of all nodes; 0: the GPUs are given for each node
  std::string model;  // its profile; "": none
  int batch = 0;      // samples; 0: not given
  // Of a node, at most; 0: not given.
  double bandwidth_bytes_per_s = 0;
  std::vector<std::string> ignored;  // options that advice leaves out

  int tasks() const { return nodes * tasks_per_node; }
  // Trainer processes of a task: one for each GPU, as torchrun starts them.
  int ranks_per_task() const {
    return std::max(1, gpus_per_node / tasks_per_node);
  }
  // Of a node, with this number of CPUs per task.
  double memory_with(int cpus) const {
    return std::max(memory_bytes, memory_bytes_per_cpu * cpus * tasks_per_node);
  }
};

// From a variable's name its value, or nullptr.
using Environment = std::function<const char*(const char*)>;

// The script that sbatch would submit.
struct Script {
  std::string path;  // as given, and absolute in the working directory
  std::string absolute;
  std::string text;
};

// The command line wins over sbatch's variables, and these over the script; a
// script's options of Penstock win over their variables.
//   script  nullopt: the command line has none (--wrap)
// Errors: kInvalidArgument  a value that sbatch would refuse, or that advice
//         cannot take: says where it was given
[[nodiscard]] Result<Request> make_request(const SbatchLine& line,
                                           const std::optional<Script>& script,
                                           const Environment& environment);

// GPUs of a GRES list, "gpu:a100:4(S:0-1),nic:1"; type "": Slurm names none.
struct GresGpus {
  std::string type;
  int count = 0;
};
std::vector<GresGpus> gpus_of_gres(std::string_view list);

}  // namespace penstock::advise
