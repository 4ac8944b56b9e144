#include <fmt/format.h>

#include <ostream>

#include "tools/penstock/checked_config.h"
#include "tools/penstock/command.h"

namespace penstock {
namespace {

const char* yes_no(bool value) { return value ? "yes" : "no"; }

const char* lend_across_name(LendAcross across) {
  switch (across) {
    case LendAcross::kAny:
      return "any";
    case LendAcross::kAccount:
      return "account";
    case LendAcross::kUser:
      return "user";
  }
  return "";
}

std::string controller_text(const Config& config) {
  std::string list;
  for (const ControllerAddress& address : config.controllers) {
    list += (list.empty() ? "" : ",") + address.to_string();
  }
  std::string out = list.empty() ? "# Controller: none\n"
                                 : fmt::format("Controller={}\n", list);
  out += fmt::format("ControllerTimeout={}\nControllerStateDir={}\n",
                     config.controller_timeout_s, config.controller_state_dir);
  out += config.munge_socket.empty()
             ? "# MungeSocket: this machine's\n"
             : fmt::format("MungeSocket={}\n", config.munge_socket);
  return out;
}

const char* submit_comment_name(SubmitComment comment) {
  switch (comment) {
    case SubmitComment::kNo:
      return "no";
    case SubmitComment::kComment:
      return "comment";
    case SubmitComment::kAdminComment:
      return "admin_comment";
  }
  return "";
}

std::string submit_text(const Config& config) {
  std::string out = fmt::format(
      "SubmitTable={}\nSubmitSocket={}\nSubmitNodeCores={}\n"
      "SubmitOvercommit={}\nSubmitComment={}\n",
      config.submit_table, config.submit_socket, config.submit_node_cores,
      config.submit_overcommit, submit_comment_name(config.submit_comment));
  out += config.submit_node_bandwidth_bytes_per_s == 0
             ? "# SubmitNodeBandwidth: jobs get no loader_bw\n"
             : fmt::format("SubmitNodeBandwidth={}\n",
                           config.submit_node_bandwidth_bytes_per_s);
  out += config.submit_model.empty()
             ? "# SubmitModel: jobs that name no model get no loader GRES\n"
             : fmt::format("SubmitModel={}\n", config.submit_model);
  return out;
}

// Settings in the syntax of penstock.conf, so that they can be read back.
std::string effective_text(const Config& config) {
  std::string out = fmt::format(
      "SocketPath={}\nStateDir={}\nReportDir={}\nProfileDir={}\n"
      "CgroupRoot={}\nCgroupName={}\nPolicy={}\nDefault={}\nLendIdle={}\n"
      "LendAcross={}\nAwayYields={}\nMaxWeight={}\nSamplePeriod={}\n"
      "MinSolveInterval={}\nReportMinTime={}\nCacheKeep={}\nLogLevel={}\n"
      "HistoryFile={}\nHistoryRetention={}\n",
      config.socket_path, config.state_dir, config.report_dir,
      config.profile_dir, config.cgroup_root, config.cgroup_name,
      policy_name(config.policy), config.default_auto ? "auto" : "off",
      yes_no(config.lend_idle), lend_across_name(config.lend_across),
      yes_no(config.away_yields), config.max_weight, config.sample_period_ms,
      config.min_solve_interval_ms, config.report_min_seconds,
      config.cache_keep_s, config.log_level, config.history_file,
      config.history_retention_days);
  out += config.metrics_file.empty()
             ? "# MetricsFile: no metrics are written\n"
             : fmt::format("MetricsFile={}\n", config.metrics_file);
  out += config.managed_cpus.empty()
             ? "# ManagedCPUs: all online CPUs\n"
             : fmt::format("ManagedCPUs={}\n", config.managed_cpus);
  out += config.gpu_type.empty() ? "# GPUType: profiles name theirs\n"
                                 : fmt::format("GPUType={}\n", config.gpu_type);
  out += submit_text(config);
  for (const PoolConfig& pool : config.pools) {
    out +=
        fmt::format("Pool={} Path={} Bandwidth={} Shared={}\n", pool.name,
                    pool.path, pool.bandwidth_bytes_per_s, yes_no(pool.shared));
  }
  return out + controller_text(config);
}

}  // namespace

Status run_check_config(const std::string& file, Terminal& terminal) {
  Result<Config> config = load_checked_config(file);
  if (!config) return std::move(config).error();
  terminal.out << "# " << file << ": ok\n" << effective_text(*config);
  return Done{};
}

}  // namespace penstock
