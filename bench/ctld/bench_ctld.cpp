#include "bench/ctld/bench_ctld.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <random>

#include "bench/ctld/agent_crowd.h"
#include "bench/ctld/private_ctld.h"
#include "bench/figures.h"
#include "common/config.h"
#include "common/file_limit.h"
#include "report/json.h"
#include "tools/penstock/client.h"
#include "tools/penstock/command.h"

namespace penstock {
namespace {

constexpr double kStart_s = 120;
constexpr double kFinish_s = 60;
constexpr double kTimeout_s = 30;

Error need_root() {
  return Error{Code::kPermissionDenied, 0,
               "bench ctld starts penstockctld, which runs as root: use sudo"};
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         size_t(share * double(values.size())))];
}

// Pool p0 is scarce; jobs of all nodes read from each pool.
std::vector<std::string> config_lines(int agents) {
  return {fmt::format("ControllerTimeout={}", kTimeout_s),
          fmt::format("Pool=p0 Path=/p0 Bandwidth={}M", 50 * agents),
          fmt::format("Pool=p1 Path=/p1 Bandwidth={}M", 1000 * agents),
          fmt::format("Pool=p2 Path=/p2 Bandwidth={}M", 1000 * agents)};
}

// Kills penstockctld at random times of the storm.
Status storm(const BenchCtldArguments& arguments, AgentCrowd& crowd,
             std::optional<PrivateCtld>& ctld) {
  std::mt19937_64 random(1);
  std::vector<double> cuts_s;
  for (int i = 0; i < arguments.kills; ++i) {
    cuts_s.push_back(
        std::uniform_real_distribution<double>(0, arguments.seconds)(random));
  }
  cuts_s.push_back(arguments.seconds);
  std::sort(cuts_s.begin(), cuts_s.end());
  double from_s = 0;
  for (size_t i = 0; i < cuts_s.size(); ++i) {
    Status part = crowd.storm(cuts_s[i] - from_s);
    if (!part) return part;
    from_s = cuts_s[i];
    if (i + 1 == cuts_s.size()) break;
    if (Status again = ctld->kill_and_restart(); !again) return again;
  }
  return Done{};
}

// CPU time that the storm cost our own controller.
struct Usage {
  double ctld_cpu_s = 0;
  double munged_cpu_s = 0;
};

Usage usage_of(const std::optional<PrivateCtld>& ctld) {
  if (!ctld) return {};
  return {ctld->ctld_cpu_s(), ctld->munged_cpu_s()};
}

std::vector<BenchFigure> figures_of(const BenchCtldArguments& arguments,
                                    const CrowdFigures& seen) {
  std::vector<BenchFigure> figures = {
      single("agents", "1",
             double(arguments.agents) + double(arguments.sampled.size())),
      single("jobs_per_s", "1/s", double(seen.jobs_started) / seen.storm_s),
      single("events", "1", double(seen.events)),
      single("lost", "1", double(seen.lost)),
      single("resyncs", "1", double(seen.resyncs)),
      single("receipt_p99_ms", "ms", percentile(seen.receipt_ms, 0.99),
             seen.receipt_ms.size()),
      single("answer_p50_ms", "ms", percentile(seen.answer_ms, 0.5),
             seen.answer_ms.size()),
      single("answer_p99_ms", "ms", percentile(seen.answer_ms, 0.99),
             seen.answer_ms.size())};
  if (arguments.kills > 0) {
    figures.push_back(single("kills", "1", arguments.kills));
  }
  return figures;
}

void add_usage(const PrivateCtld& ctld, const Usage& used, double storm_s,
               std::vector<BenchFigure>& figures) {
  figures.push_back(single("ctld_cpus", "1", used.ctld_cpu_s / storm_s));
  figures.push_back(single("munged_cpus", "1", used.munged_cpu_s / storm_s));
  figures.push_back(single("ctld_memory_mb", "MB", ctld.ctld_memory_mb()));
}

// Reports the worst of the sampled nodes.
Status add_sampled(const std::vector<std::string>& sockets,
                   std::vector<BenchFigure>& figures) {
  if (sockets.empty()) return Done{};
  double worst_ms = 0;
  size_t grants = 0;
  for (const std::string& socket : sockets) {
    Result<std::string> text = ask_status(socket, 0);
    if (!text) return std::move(text).error();
    Result<NodeStatus> status = parse_node_status(*text);
    if (!status) return std::move(status).error().wrap(socket);
    worst_ms = std::max(worst_ms, status->grant.p99_ms.value_or(0));
    grants += status->grant.count;
  }
  figures.push_back(single("decision_p99_ms", "ms", worst_ms, grants));
  return Done{};
}

// Endpoint of the controller, and munge socket for the crowd's messages.
Result<AgentCrowd::Settings> crowd_settings(const BenchCtldArguments& arguments,
                                            const Config& config) {
  if (config.controllers.empty()) {
    return invalid(arguments.config_file + ": Controller= is not set");
  }
  AgentCrowd::Settings settings;
  settings.agents = arguments.agents;
  settings.jobs_per_s = arguments.jobs_per_s;
  settings.timeout_s = double(config.controller_timeout_s);
  settings.endpoint = "tcp://" + config.controllers[0].to_string();
  settings.munge_socket = config.munge_socket;
  for (const PoolConfig& pool : config.pools) {
    if (pool.shared) settings.pools.push_back(pool.name);
  }
  return settings;
}

Status check_arguments(const BenchCtldArguments& arguments) {
  if (::geteuid() != 0) return need_root();
  if (arguments.kills > 0 && !arguments.config_file.empty()) {
    return invalid(
        "--kills is for a controller of the bench's own: leave out "
        "--config");
  }
  return Done{};
}

}  // namespace

Status run_bench_ctld(const BenchCtldArguments& arguments,
                      const std::string& json_file, Terminal& terminal) {
  if (Status good = check_arguments(arguments); !good) return good;
  // At most three sockets per agent on both sides together.
  (void)raise_file_limit();
  std::optional<PrivateCtld> ctld;
  std::string config_file = arguments.config_file;
  if (config_file.empty()) {
    Result<PrivateCtld> own =
        PrivateCtld::start(config_lines(arguments.agents));
    if (!own) return std::move(own).error();
    ctld.emplace(*std::move(own));
    config_file = ctld->directory() + "/penstock.conf";
  }
  Result<Config> config = load_config(config_file);
  if (!config) return std::move(config).error();
  Result<AgentCrowd::Settings> settings = crowd_settings(arguments, *config);
  if (!settings) return std::move(settings).error();
  Result<AgentCrowd> crowd = AgentCrowd::create(*std::move(settings));
  if (!crowd) return std::move(crowd).error();
  if (Status started = crowd->start(kStart_s); !started) return started;
  const Usage before = usage_of(ctld);
  if (Status done = storm(arguments, *crowd, ctld); !done) return done;
  const Usage after = usage_of(ctld);
  if (Status done = crowd->finish(kFinish_s); !done) return done;
  std::vector<BenchFigure> figures = figures_of(arguments, crowd->figures());
  if (ctld && arguments.kills == 0) {
    add_usage(*ctld,
              {after.ctld_cpu_s - before.ctld_cpu_s,
               after.munged_cpu_s - before.munged_cpu_s},
              crowd->figures().storm_s, figures);
  }
  if (Status done = add_sampled(arguments.sampled, figures); !done) return done;
  return publish_figures("ctld", figures, json_file, terminal);
}

}  // namespace penstock
