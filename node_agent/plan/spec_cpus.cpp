#include "node_agent/plan/spec_cpus.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/text_scan.h"

namespace penstock {
namespace {

using Fields = std::map<std::string_view, std::string_view>;

// The first value of a key counts: free text, such as Reason=, comes last.
Fields fields_of(std::string_view text) {
  Fields fields;
  for (std::string_view word = take_word(text); !word.empty();
       word = take_word(text)) {
    const std::string_view key = take_until(word, '=');
    fields.emplace(key, word);
  }
  return fields;
}

// 0: absent or not a number.
size_t number_of(const Fields& fields, std::string_view key) {
  const auto field = fields.find(key);
  size_t value = 0;
  return field != fields.end() && to_number(field->second, value) ? value : 0;
}

// The machine's CPUs core by core, in Slurm's order; empty if their numbers
// have gaps, which Slurm maps in another way.
std::vector<int> in_slurms_order(const std::vector<int>& core_of_cpu) {
  std::vector<int> order;
  for (size_t cpu = 0; cpu < core_of_cpu.size(); ++cpu) {
    if (core_of_cpu[cpu] < 0) return {};
    order.push_back(int(cpu));
  }
  std::ranges::stable_sort(order, {},
                           [&](int cpu) { return core_of_cpu[size_t(cpu)]; });
  return order;
}

bool have_threads(const std::vector<int>& order,
                  const std::vector<int>& core_of_cpu, size_t threads) {
  for (size_t i = 0; i < order.size(); ++i) {
    const int first = core_of_cpu[size_t(order[i - i % threads])];
    const bool is_new = i % threads == 0 && i > 0;
    if (core_of_cpu[size_t(order[i])] != first) return false;
    if (is_new && core_of_cpu[size_t(order[i - 1])] == first) return false;
  }
  return true;
}

bool is_machines_layout(const Fields& fields, const std::vector<int>& order,
                        const std::vector<int>& core_of_cpu) {
  const size_t threads = number_of(fields, "ThreadsPerCore");
  const size_t cpus = number_of(fields, "Sockets") *
                      number_of(fields, "CoresPerSocket") * threads;
  return cpus != 0 && cpus == order.size() &&
         number_of(fields, "CPUTot") == cpus &&
         have_threads(order, core_of_cpu, threads);
}

}  // namespace

Result<CpuSet> spec_cpus(std::string_view node_text,
                         const std::vector<int>& core_of_cpu) {
  const Fields fields = fields_of(node_text);
  if (!fields.contains("NodeName")) {
    return Error{Code::kUnavailable, 0,
                 "scontrol show node: " + printable(take_line(node_text), 200)};
  }
  const auto list = fields.find("CPUSpecList");
  if (list == fields.end()) {
    if (number_of(fields, "CoreSpecCount") == 0) return CpuSet();
    return invalid(
        "scontrol show node: CoreSpecCount without CPUSpecList: slurmd has not "
        "registered yet");
  }
  const Result<CpuSet> kept = CpuSet::parse(list->second);
  const std::vector<int> order = in_slurms_order(core_of_cpu);
  if (!kept || !is_machines_layout(fields, order, core_of_cpu) ||
      (!kept->empty() && size_t(kept->cpus().back()) >= order.size())) {
    return invalid(
        "scontrol show node: CPUSpecList=" + printable(list->second) +
        " cannot be mapped: Slurm's sockets, cores and threads are "
        "not the machine's");
  }
  std::vector<int> cpus;
  for (int abstract : kept->cpus()) cpus.push_back(order[size_t(abstract)]);
  return CpuSet(std::move(cpus));
}

}  // namespace penstock
