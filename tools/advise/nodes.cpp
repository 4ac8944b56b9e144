#include "tools/advise/nodes.h"

#include <algorithm>
#include <array>
#include <set>

#include "common/units.h"

namespace penstock::advise {
namespace {

constexpr double kMebibyte = 1024.0 * 1024;
constexpr uint64_t kMostNodes = 1'000'000;
constexpr uint64_t kMostMebibytes = uint64_t{1} << 40;

// Jobs can run there now or later. A suffix such as "~" (asleep) changes
// nothing, but for "*": the node does not answer.
bool is_up_state(std::string_view state) {
  constexpr const char* kUp[] = {"idle", "mix",  "alloc", "comp",
                                 "resv", "plnd", "npc",   "block"};
  const std::string_view word =
      state.substr(0, state.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                              "_"));
  return state.find('*') == state.npos &&
         std::find(std::begin(kUp), std::end(kUp), word) != std::end(kUp);
}

// The fields between bars; the last one keeps its bars.
std::optional<std::array<std::string_view, 6>> fields_of(
    std::string_view line) {
  std::array<std::string_view, 6> out;
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    const size_t bar = line.find('|');
    if (bar == line.npos) return std::nullopt;
    out[i] = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  out.back() = line;
  return out;
}

std::optional<NodeGroup> group_of(std::string_view line) {
  const auto fields = fields_of(line);
  if (!fields) return std::nullopt;
  const auto& [partition, nodes, cpus, memory, state, gres] = *fields;
  const Result<uint64_t> count = parse_uint(nodes, 0, kMostNodes);
  const Result<uint64_t> cpus_of_node = parse_uint(cpus, 1, 1'000'000);
  const Result<uint64_t> mebibytes = parse_uint(memory, 0, kMostMebibytes);
  if (!count || !cpus_of_node || !mebibytes || partition.empty()) {
    return std::nullopt;
  }
  NodeGroup out;
  out.is_default = partition.ends_with('*');
  out.partition =
      std::string(partition.substr(0, partition.size() - out.is_default));
  out.nodes = int(*count);
  out.cpus = int(*cpus_of_node);
  out.memory_bytes = double(*mebibytes) * kMebibyte;
  out.gpus = gpus_of_gres(gres);
  out.is_up = is_up_state(state);
  return out;
}

int gpus_of(const NodeGroup& group, const std::string& type) {
  int64_t out = 0;
  for (const GresGpus& gpus : group.gpus) {
    if (type.empty() || gpus.type == type) out += gpus.count;
  }
  return int(std::min(out, int64_t{INT32_MAX}));
}

bool has_gpus_and_memory(const Request& request, const NodeGroup& group,
                         int cpus_per_task) {
  return gpus_of(group, request.gpu_type) >= request.gpus_per_node &&
         group.memory_bytes >= request.memory_with(cpus_per_task);
}

// With its memory; 0: none fit.
int most_cpus_on(const Request& request, const NodeGroup& group) {
  int cpus = group.cpus / request.tasks_per_node;
  if (request.memory_bytes_per_cpu > 0) {
    const double by_memory = group.memory_bytes / request.memory_bytes_per_cpu /
                             request.tasks_per_node;
    cpus = int(std::min(double(cpus), by_memory));
  }
  return cpus >= 1 && has_gpus_and_memory(request, group, cpus) ? cpus : 0;
}

std::set<std::string> names_of(std::string_view list) {
  std::set<std::string> out;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    out.emplace(list.substr(0, comma));
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
  }
  return out;
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    out += (out.empty() ? "" : ", ") + printable(name);
  }
  return out;
}

}  // namespace

Result<std::vector<NodeGroup>> parse_nodes(std::string_view output) {
  std::vector<NodeGroup> out;
  while (!output.empty()) {
    const size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == output.npos ? output.size() : end + 1);
    if (line.empty()) continue;
    std::optional<NodeGroup> group = group_of(line);
    if (!group) return invalid("sinfo: " + quoted(line) + ": not as expected");
    out.push_back(*std::move(group));
  }
  return out;
}

Result<std::vector<NodeGroup>> nodes_for(const Request& request,
                                         const std::vector<NodeGroup>& all) {
  const std::set<std::string> wanted = names_of(request.partition);
  std::set<std::string> known, found;
  std::vector<NodeGroup> out;
  for (const NodeGroup& group : all) {
    known.insert(group.partition);
    const bool is_wanted =
        wanted.empty() ? group.is_default : wanted.contains(group.partition);
    if (!is_wanted) continue;
    found.insert(group.partition);
    out.push_back(group);
  }
  for (const std::string& name : wanted) {
    if (found.contains(name)) continue;
    return invalid("--partition=" + printable(name) +
                   ": there is no such partition; there are " + joined(known));
  }
  if (out.empty()) {
    return invalid(
        "the cluster has no default partition; allowed: --partition=NAME, of " +
        joined(known));
  }
  return out;
}

Request spread_over_nodes(const Request& request,
                          const std::vector<NodeGroup>& groups) {
  if (!request.is_spread) return request;
  const int tasks = request.tasks();
  int64_t all = 0;
  for (const NodeGroup& group : groups) all += group.nodes;
  const auto part_of = [](int amount, int nodes) {
    return (amount + nodes - 1) / nodes;
  };
  for (int nodes = 1; nodes <= std::min<int64_t>(tasks, all); ++nodes) {
    Request out = request;
    out.nodes = nodes;
    out.tasks_per_node = part_of(tasks, nodes);
    if (request.gpus > 0) out.gpus_per_node = part_of(request.gpus, nodes);
    if (most_cpus_per_task(out, groups).value_or(0) >= request.cpus_per_task) {
      return out;
    }
  }
  return request;
}

FittingNodes fitting_nodes(const Request& request, int cpus_per_task,
                           const std::vector<NodeGroup>& groups) {
  FittingNodes out;
  std::set<std::string> partitions;
  for (const NodeGroup& group : groups) {
    partitions.insert(group.partition);
    out.all += group.nodes;
    if (group.cpus / request.tasks_per_node < cpus_per_task ||
        !has_gpus_and_memory(request, group, cpus_per_task)) {
      continue;
    }
    (group.is_up ? out.up : out.down) += group.nodes;
  }
  out.partitions = joined(partitions);
  return out;
}

std::optional<int> most_cpus_per_task(const Request& request,
                                      const std::vector<NodeGroup>& groups) {
  std::optional<int> out;
  for (const NodeGroup& group : groups) {
    const int cpus = most_cpus_on(request, group);
    if (cpus > 0) out = std::max(out.value_or(0), cpus);
  }
  return out;
}

std::optional<int> cpus_of_gpu_share(const Request& request,
                                     const std::vector<NodeGroup>& groups) {
  if (request.gpus_per_node == 0) return std::nullopt;
  std::optional<int> out;
  for (const NodeGroup& group : groups) {
    if (most_cpus_on(request, group) == 0) continue;
    const int64_t of_gpus =
        int64_t{group.cpus} * request.gpus_per_node / gpus_of(group, "");
    out = std::max(out.value_or(0), int(of_gpus / request.tasks_per_node));
  }
  return out;
}

std::string gpu_type_of(const Request& request,
                        const std::vector<NodeGroup>& groups) {
  if (!request.gpu_type.empty()) return request.gpu_type;
  std::set<std::string> types;
  for (const NodeGroup& group : groups) {
    if (most_cpus_on(request, group) == 0) continue;
    for (const GresGpus& gpus : group.gpus) types.insert(gpus.type);
  }
  return types.size() == 1 ? *types.begin() : "";
}

}  // namespace penstock::advise
