#include "node_agent/system_cpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"
#include "node_agent/plan/spec_cpus.h"

namespace penstock {
namespace {

// Without slurmctld, scontrol of Slurm 22.05 gives up after 9 s.
constexpr uint64_t kDeadline_ms = 20'000;
constexpr size_t kMaxBytes = size_t{64} * 1024;
constexpr uint64_t kFirstPause_ms = 1000;
constexpr uint64_t kLongestPause_ms = 64'000;
constexpr uint64_t kKnownPause_ms = 300'000;
constexpr const char* kSysCpu = "/sys/devices/system/cpu";

// A kernel without the feature has no file, or the text "(null)".
Result<CpuSet> read_list(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return CpuSet();
  if (!file) return system_error(errno, path);
  std::string text;
  if (const int error = read_whole(file.get(), kMaxBytes, text); error != 0) {
    return system_error(error, path);
  }
  if (text.find("(null)") != text.npos) return CpuSet();
  Result<CpuSet> cpus = CpuSet::parse(text.substr(0, text.find('\n')));
  if (!cpus) return std::move(cpus).error().wrap(path);
  return cpus;
}

void show_node(const std::string& node, int out) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execlp("scontrol", "scontrol", "--oneliner", "show", "node", node.c_str(),
           nullptr);
  (void)!write_whole(out, std::strerror(errno));
}

}  // namespace

Result<CpuSet> isolated_cpus(const std::string& sys_cpu) {
  Result<CpuSet> isolated = read_list(sys_cpu + "/isolated");
  if (!isolated) return isolated;
  Result<CpuSet> tickless = read_list(sys_cpu + "/nohz_full");
  if (!tickless) return tickless;
  return *isolated | *tickless;
}

void SystemCpus::look(uint64_t now_ns) {
  const Config& config = node_.config;
  if (!config.lend_idle || !config.managed_cpus.empty()) return;
  if (is_asking_ || now_ns < next_ns_) return;
  is_asking_ = true;
  ChildWork work;
  work.what = "scontrol show node";
  work.body = [this](int out) { show_node(node_.machine.node, out); };
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxBytes;
  children_.start(work,
                  [this](const Result<std::string>& text) { take(text); });
}

void SystemCpus::take(const Result<std::string>& node_text) {
  is_asking_ = false;
  Result<CpuSet> cpus =
      node_text ? spec_cpus(*node_text, node_.machine.topology.core_of_cpu)
                : Result<CpuSet>(node_text.error());
  // Running jobs outlive a slurmctld that is down, and so does its answer.
  const bool keeps = !cpus && cpus.error().code == Code::kUnavailable &&
                     node_.system_cpus.ok();
  if (!keeps) set(std::move(cpus));
  pause_ms_ = node_.system_cpus.ok()
                  ? kKnownPause_ms
                  : std::clamp(2 * pause_ms_, kFirstPause_ms, kLongestPause_ms);
  next_ns_ = monotonic_ns() + pause_ms_ * 1'000'000;
}

void SystemCpus::set(Result<CpuSet> cpus) {
  if (cpus) {
    const Result<CpuSet> isolated = isolated_cpus(kSysCpu);
    cpus = isolated ? Result<CpuSet>(*cpus | *isolated) : isolated;
  }
  const bool is_same = cpus.ok() == node_.system_cpus.ok() &&
                       (!cpus || *cpus == *node_.system_cpus);
  node_.system_cpus = std::move(cpus);
  if (std::exchange(was_told_, true) && is_same) return;
  if (!node_.system_cpus) {
    log_warning(
        "idle CPUs are not lent: {}; set ManagedCPUs= to the CPUs that may be "
        "lent, or LendIdle=no",
        node_.why_idle_not_lent());
  } else if (!node_.system_cpus->empty()) {
    log_info("CPUs {} are kept for the system, and not lent while they idle",
             node_.system_cpus->to_string());
  } else {
    log_info("no CPUs are kept for the system: idle ones may be lent");
  }
}

}  // namespace penstock
